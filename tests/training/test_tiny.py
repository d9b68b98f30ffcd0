"""recipes/tiny.toml learns its toy language: the whole path from text to a translating model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.toy import TINY, toy_recipe
from turia.config import Recipe
from turia.corpus.shards import load_subwords
from turia.model.checkpoint import load_model
from turia.runtime.shape import Precision
from turia.runtime.translator import Translator
from turia.training.export.run import export_run
from turia.training.loop import train
from turia.training.paths import MaskSettings
from turia.training.run import RunFolder
from turia.training.validation import engine_model, translate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, RunFolder]:
    recipe = toy_recipe(tmp_path_factory.mktemp("tiny"))
    # One look at the dev set, at the end: each takes as long as fifty steps.
    recipe = replace(recipe, validation=replace(recipe.validation, steps=recipe.training.steps))
    return recipe, RunFolder(train(recipe, lambda _: None))


def dev(side: str) -> list[list[str]]:
    text = (TINY.parent / "toy" / f"dev.{side}").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line]


def test_the_toy_language_is_learned(trained: tuple[Recipe, RunFolder]) -> None:
    recipe, run = trained
    policy = MaskSettings(recipe.model.encoder, recipe.model.anchor, gamma=1.0)
    model = engine_model(load_model(run.newest()), load_subwords(run.path), policy, history=0)
    found = translate(model, dev("source"), k=3, history=0)
    wrong = sum(one != other for one, other in zip(found, dev("target"), strict=True))
    assert len(found) == 48
    assert wrong <= 2
    assert (run.path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_int8_translates_the_dev_set_as_float32_does(trained: tuple[Recipe, RunFolder], tmp_path: Path) -> None:
    """With weights that were learned. What it costs in BLEU needs more than 48 sentences: benchmarks/int8.py."""

    def exported(precision: Precision) -> list[list[str]]:
        export_run(trained[1].path, tmp_path / precision, precision)
        return translate(Translator.load(tmp_path / precision).model, dev("source"), k=3, history=0)

    wide, narrow = exported("float32"), exported("int8")
    assert sum(one != other for one, other in zip(wide, narrow, strict=True)) <= 2
    assert sum(one != right for one, right in zip(narrow, dev("target"), strict=True)) <= 4
