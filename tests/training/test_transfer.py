"""A run in one vocabulary starts from a run in another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.test_resume import assert_same, quick, weights_at
from turia.cli import main
from turia.config import Corpus, Training
from turia.corpus.prepare import prepare
from turia.corpus.shards import load_subwords
from turia.errors import ConfigError, ModelError
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.run import RunFolder
from turia.training.transfer import matches


def test_pieces_are_matched_by_spelling_and_else_by_their_letters() -> None:
    theirs = ["<pad>", "haus▁", "Haus▁", "Europe▁", "zu"]
    mine = ["<pad>", "Zu", "zu", "Haus▁", "HAUS▁", "europe▁", "neu▁"]
    assert list(matches(mine, theirs)) == [(0, 0), (1, 4), (2, 4), (3, 2), (4, 1), (5, 3)]


@pytest.mark.slow
def test_a_run_starts_from_the_opposite_direction(tmp_path: Path) -> None:
    there = quick(tmp_path / "there", steps=3)
    first = RunFolder(train(there, lambda _: None))
    [corpus], [dev] = there.data.train, there.data.dev
    data = replace(there.data, folder=tmp_path / "data", train=(_turned(corpus),), dev=(_turned(dev),))
    start = replace(
        there.training, start_from=there.run, match_pieces=True, schedule="fixed", learning_rate=0.0, steps=1
    )
    back = replace(there, run=tmp_path / "back", data=data, training=start)
    prepare(back, processes=1)
    told: list[object] = []
    second = RunFolder(train(back, told.append))
    old, new = (load_tensors(run.newest() / "model.safetensors") for run in (first, second))
    (theirs, _), (mine, _) = load_subwords(first.path), load_subwords(second.path)
    pairs = list(matches(mine.pieces, theirs.pieces))
    assert mine.model != theirs.model
    assert 0.5 < len(pairs) / len(mine.pieces) < 1
    assert any(f"with {len(pairs) / len(mine.pieces):.0%} of the pieces" in str(line) for line in told)
    name = "target_embedding.weight"
    for mine_row, their_row in pairs:
        torch.testing.assert_close(new[name][mine_row], old[name][their_row], atol=0, rtol=0)
    others = sorted(set(range(len(mine.pieces))) - {row for row, _ in pairs})
    assert new[name][others].abs().sum(dim=1).min() > 0, "pieces that nobody knew begin at random"
    assert old.keys() == new.keys()
    for other in old.keys() - {name}:
        torch.testing.assert_close(new[other], old[other], atol=0, rtol=0)


def test_a_run_of_another_width_cannot_be_matched(tmp_path: Path) -> None:
    there = quick(tmp_path, steps=1)
    train(there, lambda _: None)
    start = replace(there.training, start_from=there.run, match_pieces=True)
    wider = replace(there, run=tmp_path / "wider", training=start, model=replace(there.model, width=32))
    with pytest.raises(ModelError, match=r"tensor \w+_embedding\.weight is \(\d+, \d+\), expected \(\d+, 32\)"):
        train(wider, lambda _: None)


def test_a_run_starts_from_an_exported_model_and_knows_its_corpora(tmp_path: Path) -> None:
    there = quick(tmp_path, steps=3)
    first = RunFolder(train(there, lambda _: None))
    model = tmp_path / "model"
    assert main(["export", str(first.path), str(model), "--precision", "float32"]) == 0
    [corpus] = there.data.train
    start = replace(there.training, start_from=model, schedule="fixed", learning_rate=1e-9, steps=1)
    more = replace(
        there,
        run=tmp_path / "more",
        training=start,
        data=replace(there.data, train=(replace(corpus, source=tmp_path / "other/text"),)),
        subwords=replace(there.subwords, reuse=model),
    )
    told: list[object] = []
    second = RunFolder(train(more, told.append))
    assert f"starts from {model}" in told
    assert_same(weights_at(second.path, 1), weights_at(first.path, 3))
    assert second.corpora() == {**first.corpora(), "other/text": corpus.licence}
    (model / "weights.bin").write_bytes(b"others")
    with pytest.raises(ModelError, match="SHA256SUMS"):
        train(more, lambda _: None, fresh=True)


@pytest.mark.parametrize(("key", "value", "before"), [("positions", "rotary", "'sinusoidal'"), ("heads", 2, "4")])
@pytest.mark.parametrize("exported", [False, True])
def test_weights_that_would_mean_something_else_are_refused(
    tmp_path: Path, key: str, value: object, before: str, exported: bool
) -> None:
    there = quick(tmp_path, steps=1)
    start = train(there, lambda _: None)
    if exported:
        assert main(["export", str(start), str(tmp_path / "model")]) == 0
        start = tmp_path / "model"
    other = replace(
        there,
        run=tmp_path / "other",
        model=replace(there.model, **{key: value}),  # type: ignore[arg-type]
        training=replace(there.training, start_from=start),
    )
    with pytest.raises(
        ConfigError, match=rf"{start} has model.{key} = {before}, the recipe has {value!r}; its weights"
    ):
        train(other, lambda _: None)
    assert not (other.run / "recipe.json").exists(), "nothing has begun"


def _turned(corpus: Corpus) -> Corpus:
    return replace(corpus, source=corpus.target, target=corpus.source)


def test_nothing_can_be_matched_without_a_run_to_start_from() -> None:
    with pytest.raises(ConfigError, match="set start_from"):
        Training(steps=1, match_pieces=True)
