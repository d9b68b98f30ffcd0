"""What release 0.1 has written still works: its model folders, its saved streams, its traces and its recipes.

The files are in tests/recorded/release-0.1/, whose README says how they were made. What it sent and stored on a server
is in tests/protocol/ and tests/server/test_upgrade.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.cli import main
from turia.config import Recipe, SegmenterRecipe, SweepRecipe, load_recipe
from turia.export.again import export_model
from turia.runtime.folder import load_folder
from turia.runtime.translator import Translator
from turia.stream.trace import Write, parse_trace

RECORDED = Path(__file__).parent / "recorded" / "release-0.1"
MODEL = RECORDED / "model"
WORDS = (RECORDED / "model-words.txt").read_text(encoding="utf-8").split()


def written(path: Path) -> list[tuple[str, int, int]]:
    records = parse_trace(path.read_text(encoding="utf-8").splitlines()).records
    return [(record.word, record.read, record.sentence) for record in records if isinstance(record, Write)]


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model, written again by this release."""
    folder = tmp_path_factory.mktemp("again") / "model"
    export_model(MODEL, folder)
    return folder


def test_the_folder_is_the_old_one_and_becomes_a_new_one(again: Path) -> None:
    formats = [json.loads((folder / "config.json").read_text(encoding="utf-8"))["format"] for folder in (MODEL, again)]
    assert formats == [2, 3]
    assert load_folder(again).config.shape == load_folder(MODEL).config.shape
    assert (load_folder(MODEL).can_look, load_folder(again).can_look) == (False, True)


@pytest.mark.parametrize("folder", ["old", "new"])
def test_its_model_writes_the_words_that_it_wrote(folder: str, again: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    model = MODEL if folder == "old" else again
    command = ["translate", str(RECORDED / "model-words.txt"), "--model", str(model), "--punctuation", "--k", "2"]
    assert main([*command, "--trace", str(trace)]) == 0
    assert written(trace) == written(RECORDED / "model-trace.jsonl")


def test_a_stream_that_it_saved_goes_on() -> None:
    saved = json.loads((RECORDED / "model-state.json").read_text(encoding="utf-8"))
    stream = Translator.load(MODEL).restore(saved["state"])
    records = [record for word in WORDS[9:] for record in stream.push(word)] + stream.flush()
    assert [record.word for record in records if isinstance(record, Write)] == saved["rest"]


@pytest.mark.parametrize("path", sorted((RECORDED / "recipes").rglob("*.toml")), ids=lambda path: str(path.stem))
def test_its_recipes_are_read(path: Path) -> None:
    kind = {"segmenter": SegmenterRecipe, "sweep": SweepRecipe}.get(path.stem.partition("-")[0], Recipe)
    assert isinstance(load_recipe(kind, path), kind)


def test_its_recipes_mean_what_they_meant() -> None:
    recipe = load_recipe(Recipe, RECORDED / "recipes" / "ablation" / "window-anchor.toml")
    assert (recipe.model.anchor, recipe.model.positions, recipe.training.optimizer) == ("window", "sinusoidal", "adam")
