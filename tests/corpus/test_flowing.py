"""Samples of models that work without a segmenter: no separator in the source, prefixes cut alike on both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.windows import sentence
from tests.training.toy import toy_recipe
from turia.corpus.batches import assemble
from turia.corpus.flowing import assemble_flowing, can_be_cut, cut_pair
from turia.corpus.shards import WINDOW, Shards
from turia.text.symbols import BRK_ID, END_ID, MORE_ID, PAD_ID, SEP_ID


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    recipe = toy_recipe(tmp_path_factory.mktemp("toy"))
    return Shards.open(Path(recipe.data.folder) / "train")


def windows(shards: Shards) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Some windows whose last pair can be cut."""
    every = np.flatnonzero((shards.samples[:, 2] & WINDOW) > 0)
    return np.array([i for i in every if can_be_cut(*shards.sentence(int(shards.samples[i, :2].sum()) - 1))][:12])


def test_a_whole_window_has_separators_on_the_target_side_alone(shards: Shards) -> None:
    chosen = windows(shards)
    usual, flowing = assemble(shards, chosen), assemble_flowing(shards, chosen)
    assert (usual.source == SEP_ID).any()
    assert not (flowing.source == SEP_ID).any()
    assert np.array_equal(flowing.target, usual.target)
    for before, now in zip(usual.windows, flowing.windows, strict=True):
        assert now.flowing
        assert [i for i in now.ids if i != SEP_ID] == [i for i in before.ids if i != SEP_ID]
        assert np.array_equal(now.words, before.words)


def test_a_prefix_is_open_in_the_source_and_asks_for_more_in_the_target(shards: Shards) -> None:
    chosen = windows(shards)
    whole = assemble_flowing(shards, chosen)
    batch = assemble_flowing(shards, chosen, prefixes=1.0, rng=np.random.default_rng(3))
    assert batch.target_tokens < whole.target_tokens
    for number, window in enumerate(batch.windows):
        before = whole.windows[number]
        assert window.ids[-1] not in (BRK_ID, END_ID)
        assert np.array_equal(window.ids, before.ids[: len(window.ids)])
        assert 1 <= window.words[-1] < before.words[-1]
        target = batch.target[number][batch.target[number] != PAD_ID]
        assert target[-1] == MORE_ID
        assert np.array_equal(target[:-1], whole.target[number][: len(target) - 1])


def test_a_share_is_cut(shards: Shards) -> None:
    chosen = np.resize(windows(shards), 200)
    batch = assemble_flowing(shards, chosen, prefixes=0.5, rng=np.random.default_rng(1))
    cut = sum(int(row[row != PAD_ID][-1]) == MORE_ID for row in batch.target)
    assert 70 < cut < 130


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0, 1))
def test_both_sides_are_cut_at_one_ratio(source_words: int, target_words: int, ratio: float) -> None:
    source, target = sentence([2] * source_words), sentence([1] * target_words)
    first, second = cut_pair(source, target, ratio)
    for side, whole in ((first, source), (second, target)):
        words = len(side.pieces)
        assert 1 <= words < len(whole.pieces)
        assert len(side.ids) == side.pieces.sum()
        assert abs(words - ratio * len(whole.pieces)) <= 1


def test_a_single_word_is_not_cut() -> None:
    assert not can_be_cut(sentence([1]), sentence([1, 1]))
    assert can_be_cut(sentence([1, 1]), sentence([1, 1]))
