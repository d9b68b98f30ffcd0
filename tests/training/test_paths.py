"""Random paths: monotone, within bounds, and seen by the encoder and the decoder as a policy would have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.windows import lay_out_pair, pairs, sentence
from turia.config import ModelSettings, Recipe, Training
from turia.corpus.batches import Batch, pad
from turia.errors import ConfigError
from turia.policy.masks import cross_limit, encoder_reach, needed_words
from turia.text.layout import WHOLE, Sentence, target_rows
from turia.training.paths import MaskSettings, batch_limits, random_limits, random_path

Pair = tuple[list[Sentence], list[Sentence]]
gammas = st.sampled_from([0.8, 1.0, 1.1, 1.24])
lags = st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(pair=pairs(), seed=st.integers(0, 2**32), lags=lags, gamma=gammas)
def test_a_path_goes_forward_and_its_lag_stays_within_bounds(
    pair: Pair, seed: int, lags: tuple[int, int], gamma: float
) -> None:
    rows = target_rows(pair[1])
    first, needed = random_path(np.random.default_rng(seed), rows, lags, gamma)
    assert len(first) == len(pair[1])
    caught_up = needed_words(rows.word, 1, gamma) - 1
    for number, words in enumerate(first):
        own = rows.sentence == number
        word, read = rows.word[own], needed[own]
        assert read[-1] == WHOLE, "a closing symbol is written when all is read"
        assert read[0] == words
        assert words >= 1
        assert (np.diff(read) >= 0).all()
        lag = (read - caught_up[own])[:-1]
        assert lags[0] <= lag.min()
        assert lag.max() <= lags[1]
        # The pieces of a word are written together.
        assert all(len(set(read[word == one])) == 1 for one in set(word))


def test_paths_differ_and_their_lag_walks() -> None:
    """From sentence to sentence, and from word to word; on average neither up nor down."""
    rows = target_rows([sentence([1] * 30), sentence([1] * 30)])
    caught_up = needed_words(rows.word, 1, 1.0) - 1
    found = [random_path(np.random.default_rng(seed), rows, (1, 30), 1.0)[1] - caught_up for seed in range(400)]
    lag = np.array(found)[:, rows.word < WHOLE].reshape(400, 2, 30)
    assert (lag[:, 0] != lag[:, 1]).any(axis=1).mean() > 0.95
    assert np.bincount(lag[:, :, 0].ravel(), minlength=31)[1:].min() > 5, "it begins anywhere"
    assert (np.ptp(lag, axis=2) >= 2).mean() > 0.9
    assert 12 < lag[:, :, 5:].mean() < 22


def test_one_lag_is_wait_k() -> None:
    source, target = [sentence([2, 1, 3, 1]), sentence([1, 1])], [sentence([1, 2, 1, 1, 1]), sentence([1])]
    window, written = lay_out_pair(source, target)
    batch = Batch(window.ids[None], written.ids[None], [window], [target_rows(target)])
    policy = MaskSettings("pbe", "sentence", 1.1)
    found = random_limits(np.random.default_rng(1), batch, (3, 3), policy)
    for one, other in zip(found, batch_limits(batch, 3, policy), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@given(batch=st.lists(pairs(), min_size=1, max_size=3), seed=st.integers(0, 2**32), gamma=gammas)
def test_rows_see_what_was_read_when_their_word_was_written(batch: list[Pair], seed: int, gamma: float) -> None:
    laid_out = [lay_out_pair(*pair) for pair in batch]
    windows, rows = [window for window, _ in laid_out], [target_rows(target) for _, target in batch]
    made = Batch(pad([w.ids for w in windows]), pad([written.ids for _, written in laid_out]), windows, rows)
    policy = MaskSettings("pbe", "sentence", gamma)
    longest = made.longest_sentence
    reach, limit = (part.numpy() for part in random_limits(np.random.default_rng(seed), made, (1, longest), policy))
    assert reach.shape == made.source.shape
    assert limit.shape == (len(batch), made.target.shape[1] - 1)
    for number, (window, of_rows) in enumerate(zip(windows, rows, strict=True)):
        own, seen = reach[number, : len(window.ids)], limit[number, : len(of_rows.word)]
        # Padding sees one column, so that no softmax is empty.
        assert (reach[number, len(window.ids) :] == 1).all()
        assert (limit[number, len(of_rows.word) :] == 1).all()
        # Nobody sees less than at k = 1, nor beyond the end of its own sentence.
        ends = window.word_ends[window.first_word + window.words - 1]
        assert (own >= encoder_reach(window, 1, "pbe", "sentence")).all()
        assert (own <= ends[np.searchsorted(ends, np.arange(len(own)), side="right")]).all()
        assert (seen >= cross_limit(window, of_rows, 1, gamma, "sentence")).all()
        assert (seen <= ends[of_rows.sentence]).all()
        closing = of_rows.word == WHOLE
        np.testing.assert_array_equal(seen[closing], ends)
        # The encoder's first block of a sentence is what the first word of its translation was written from.
        opening = np.flatnonzero(of_rows.word == 1)[
            np.unique(of_rows.sentence[of_rows.word == 1], return_index=True)[1]
        ]
        begins = np.r_[0, ends[:-1]]
        np.testing.assert_array_equal(own[begins], seen[opening])


def test_paths_are_anchored_at_the_sentence() -> None:
    with pytest.raises(ConfigError, match=r"training.paths is 'any', which needs model.anchor = 'sentence'"):
        Recipe("de", "en", model=ModelSettings(anchor="window"), training=Training(paths="any"))
