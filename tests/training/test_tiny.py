"""recipes/tiny.toml learns its toy language: the whole path from text to a translating model."""

from __future__ import annotations

from pathlib import Path

from tests.training.toy import TINY, toy_recipe
from turia.corpus.shards import load_subwords
from turia.model.checkpoint import load_model
from turia.training.loop import train
from turia.training.multik import Policy
from turia.training.run import RunFolder
from turia.training.validation import engine_model, translate


def test_the_toy_language_is_learned(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path)
    run = RunFolder(train(recipe, lambda _: None))
    policy = Policy(recipe.model.encoder, recipe.model.anchor, gamma=1.0)
    model = engine_model(load_model(run.newest()), load_subwords(run.path), policy, history=0)
    source, target = (
        [
            line.split()
            for line in (TINY.parent / "toy" / f"dev.{side}").read_text(encoding="utf-8").splitlines()
            if line
        ]
        for side in ("source", "target")
    )
    found = translate(model, source, k=3, history=0)
    wrong = sum(one != other for one, other in zip(found, target, strict=True))
    assert len(target) == 48
    assert wrong <= 2
