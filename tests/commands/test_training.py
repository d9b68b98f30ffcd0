"""The commands from corpora to a model folder as a user's shell sees them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.training.toy import TINY
from turia.cli import main
from turia.corpus.backtranslated import BacktranslateReport, Untranslated
from turia.runtime.folder import CARD_FILE, load_folder


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    copied = shutil.copytree(model_folder, tmp_path / "model")
    (copied / CARD_FILE).write_text("# German → English\n", encoding="utf-8")
    return copied


def test_export_for_the_hub_takes_a_model_folder_too(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "hub"
    assert main(["export", str(folder), str(out), "--hub", "--license", "mit"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert ModelCard.load(out / CARD_FILE).data.license == "mit"
    assert (folder / CARD_FILE).read_text(encoding="utf-8") == "# German → English\n", "the model itself stays"


def test_export_writes_a_model_folder_again(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = tmp_path / "again"
    assert main(["export", str(folder), str(again), "--beam", "3"]) == 0
    old, new = load_folder(folder), load_folder(again)
    assert new.config == replace(old.config, beam=3)
    assert new.can_look
    assert main(["export", str(folder), str(tmp_path / "other"), "--precision", "float32"]) == 2
    assert "whose weights stay as they are; --precision is for a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hub", "--license", "foo"], "error: licence 'foo' is not one that Turia knows"),
        (["--hub", "--precision", "int8"], "a model, which is copied as it is; --precision is for a run"),
        (["--hub", "--average", "2"], "a model, which is copied as it is; --average is for a run"),
        (["--hub", "--history", "0"], "a model, which is copied as it is; --history is for a run"),
        (["--license", "mit"], "error: --license is for the card of a folder for the hub; give --hub too"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    folder: Path, tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(folder), str(tmp_path / "hub"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize(("rank", "lines"), [(None, 6), ("0", 6), ("1", 0)])
def test_of_several_processes_the_first_one_prints(
    folder: Path,
    tmp_path: Path,
    rank: str | None,
    lines: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("RANK", rank), ("WORLD_SIZE", rank and "2")):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    report = BacktranslateReport("", "model", "en", "de", 1, 2, 3, 4, Untranslated())
    monkeypatch.setattr("turia.training.backtranslate.backtranslate", lambda *_: report)
    monkeypatch.setattr("turia.training.loop.train", lambda recipe, *_: recipe.run)
    assert main(["backtranslate", str(folder), str(tmp_path / "text.tsv"), str(tmp_path / "out")]) == 0
    assert main(["train", str(TINY)]) == 0
    out, err = capsys.readouterr()
    assert len((out + err).splitlines()) == lines + 1 if lines else not out + err


def test_a_place_that_is_a_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert main(["export", str(folder), str(tmp_path / "file"), "--hub"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'file'} is there and is no folder; choose another place\n"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
