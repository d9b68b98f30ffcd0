"""Batches: nothing lost, nothing doubled, sizes kept, order reproduced by counters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.toy import toy_recipe
from turia.corpus.batches import POOL_SAMPLES, PoolStart, Sampler, assemble, cut_batches, samples_in_order
from turia.corpus.shards import WINDOW, Shards
from turia.text.layout import WHOLE
from turia.text.symbols import BRK_ID, CLOSING_IDS, CONT_ID, DOC_ID, END_ID, PAD_ID, SEP_ID


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    recipe = toy_recipe(tmp_path_factory.mktemp("toy"))
    return Shards.open(Path(recipe.data.folder) / "train")


def test_a_window_is_assembled_as_the_method_says(shards: Shards) -> None:
    index = int(np.flatnonzero(shards.samples[:, 2] & WINDOW)[1])  # the second window of the first document
    first, count, _ = shards.samples[index]
    batch = assemble(shards, np.array([index]))
    source = batch.source[0]
    assert source[0] == CONT_ID
    assert (source == SEP_ID).sum() == count - 1
    assert source[-1] in (BRK_ID, END_ID)
    pieces = [shards.sentence(i)[0].ids for i in range(first, first + count)]
    assert [i for i in source if i > END_ID] == np.concatenate(pieces).tolist()
    assert (batch.rows[0].word == WHOLE).sum() == count
    assert len(batch.rows[0].word) == batch.target.shape[1] - 1 == batch.target_tokens


def test_the_first_sentence_opens_its_document(shards: Shards) -> None:
    singles = np.flatnonzero((shards.samples[:, 2] & WINDOW) == 0)
    batch = assemble(shards, singles[:8])
    assert batch.source[:, 0].tolist() == [DOC_ID] + [CONT_ID] * 7
    last = [int(row[row != PAD_ID][-1]) for row in batch.target]
    assert last == [BRK_ID] * 7 + [END_ID]


def test_batches_hold_every_sample_once_and_keep_their_size() -> None:
    rng = np.random.default_rng(5)
    lengths = rng.integers(2, 90, 1000)
    samples = rng.permutation(1000)
    batches = cut_batches(samples, lengths, 500, rng)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
    assert all(len(batch) * lengths[batch].max() <= 500 for batch in batches)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert lengths.sum() / padded > 0.85, "like lengths go together"


def test_what_is_measured_again_and_again_is_cut_without_chance() -> None:
    lengths = np.array([9, 5, 7, 5, 9, 7])
    batches = cut_batches(np.arange(6), lengths, 18)
    assert [batch.tolist() for batch in batches] == [[1, 3], [2, 5], [0, 4]]


def test_a_sample_longer_than_a_batch_comes_alone() -> None:
    batches = cut_batches(np.arange(3), np.array([5, 50, 5]), 20, np.random.default_rng(0))
    assert sorted(map(len, batches)) == [1, 2]


def test_pools_mix_in_the_recipes_ratio_and_repeat_from_counters(shards: Shards) -> None:
    sampler = Sampler(shards, sentences_per_window=3.0, seed=1)
    start = PoolStart()
    for _ in range(2):
        batches, following = sampler.pool(start, True, 1000)
        drawn = np.concatenate(batches)
        windows = np.isin(drawn, sampler.windows).sum()
        assert windows == POOL_SAMPLES / 4
        again, _ = Sampler(shards, 3.0, 1).pool(start, True, 1000)
        assert all((one == other).all() for one, other in zip(batches, again, strict=True))
        start = following
    assert start == PoolStart(2, POOL_SAMPLES // 2, 3 * POOL_SAMPLES // 2)


def test_the_ratio_of_the_sides_is_that_of_the_single_sentences(shards: Shards) -> None:
    sampler = Sampler(shards, 3.0, 1)
    batch = assemble(shards, sampler.sentences)
    source, target = ((ids != PAD_ID).sum() for ids in (batch.source, batch.target))
    assert sampler.pieces_ratio == pytest.approx(target / source)


def test_last_sentences_are_those_behind_others(shards: Shards) -> None:
    sampler = Sampler(shards, 3.0, 1)
    samples = np.concatenate([sampler.windows, sampler.sentences[:20]])
    batch = assemble(shards, samples)
    last = batch.last_sentence
    assert last.shape == batch.target[:, 1:].shape
    assert last.sum(axis=1).tolist() == sampler.last_labels[samples].tolist()
    assert not last[len(sampler.windows) :].any()
    several = 0
    for sample, flags, labels in zip(samples, last, batch.target[:, 1:], strict=True):
        first, count, _ = shards.samples[sample].tolist()
        if count > 1:
            several += 1
            expected = shards.sentence(first + count - 1)[1].ids
            assert labels[flags > 0][:-1].tolist() == expected.tolist()
            assert labels[flags > 0][-1] in CLOSING_IDS
    assert several > 10


def test_an_epoch_draws_every_sentence_once(shards: Shards) -> None:
    sampler = Sampler(shards, 1.0, 1)
    count = len(sampler.sentences)
    drawn = sampler._draw(sampler.sentences, 0, count, stream=2)
    assert sorted(drawn.tolist()) == sampler.sentences.tolist()
    across = sampler._draw(sampler.sentences, count - 10, 20, stream=2)
    assert across[:10].tolist() == drawn[-10:].tolist()


def test_validation_sees_all_windows(shards: Shards) -> None:
    total = sum(map(len, samples_in_order(shards, windows=True, batch_tokens=1000)))
    assert total == int((shards.samples[:, 2] & WINDOW > 0).sum())


def test_a_shorter_look_is_not_a_look_at_the_shortest(shards: Shards) -> None:
    """Batches are in the order of length: so many of them, evenly spaced, reach to the longest."""
    every = [samples.tolist() for samples in samples_in_order(shards, False, 1000)]
    some = [samples.tolist() for samples in samples_in_order(shards, False, 1000, most=2)]
    assert len(every) > 3
    assert some == [every[len(every) // 4], every[3 * len(every) // 4]]
    assert [samples.tolist() for samples in samples_in_order(shards, False, 1000, most=len(every))] == every
