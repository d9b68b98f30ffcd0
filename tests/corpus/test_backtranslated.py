"""A folder of back-translation: its report, and that a recipe calls it what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from turia.config import Corpus, Recipe
from turia.corpus.backtranslated import (
    CORPUS_FILE,
    REPORT_FILE,
    BacktranslateReport,
    Untranslated,
    check_marked,
    read_backtranslation,
)
from turia.errors import ConfigError
from turia.schema import load_toml

REPORT = BacktranslateReport("abc", "en-de", "en", "de", 2, 30, 300, 280, Untranslated(no_words=1, loop=4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / CORPUS_FILE).write_bytes(b"")
    (tmp_path / REPORT_FILE).write_text(REPORT.to_json(), encoding="utf-8")
    return tmp_path


def test_a_report_comes_back(folder: Path) -> None:
    assert read_backtranslation(folder) == REPORT
    assert REPORT.lines() == [
        "2 documents, 30 pairs: 300 words of en, 280 words of de by en-de",
        "dropped: no words 1, loop 4",
    ]
    assert replace(REPORT, dropped=Untranslated()).lines()[-1] == "dropped: nothing"


def test_a_folder_that_is_not_complete_has_no_report(folder: Path) -> None:
    (folder / CORPUS_FILE).unlink()
    assert read_backtranslation(folder) is None
    (folder / CORPUS_FILE).write_bytes(b"")
    (folder / REPORT_FILE).write_text("{ half", encoding="utf-8")
    assert read_backtranslation(folder) is None
    assert read_backtranslation(folder / "nowhere") is None
    assert read_backtranslation(folder / CORPUS_FILE) is None


def test_the_lines_for_a_recipe_are_what_a_recipe_takes(folder: Path) -> None:
    recipe = folder / "recipe.toml"
    recipe.write_text(f'source_language = "de"\ntarget_language = "en"\n{REPORT.corpus(folder)}\n', encoding="utf-8")
    (corpus,) = load_toml(Recipe, recipe).data.train
    assert corpus == Corpus(folder / CORPUS_FILE, columns=("de", "en"), synthetic=True)
    check_marked([corpus])


def test_machine_translation_must_be_called_so(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(ConfigError, match=r"was written by `turia backtranslate`; set synthetic = true"):
        check_marked([Corpus(folder / CORPUS_FILE)])
    # Whoever says that it is none may know better; another file of this name is nobody's business.
    check_marked([Corpus(folder / CORPUS_FILE, synthetic=False), Corpus(source=folder / "a", target=folder / "b")])
    check_marked([Corpus(tmp_path_factory.mktemp("other") / CORPUS_FILE)])
