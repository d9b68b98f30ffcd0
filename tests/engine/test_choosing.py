"""Probabilities of what is allowed, and the best of many."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.engine.choosing import best_allowed, best_continuations, largest, log_probabilities
from turia.text.symbols import BRK_ID, CLOSING_IDS, END_ID, SEP_ID


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1, 200, 511, 512, 700, 4 * 340, 5000]),
    count=st.integers(1, 16),
    different=st.sampled_from([2, 50, 10**6]),
)
def test_the_largest_are_found_in_order(seed: int, size: int, count: int, different: int) -> None:
    """Whatever is equal: the values are those of a full sort, and equal ones come in their order."""
    values = np.random.default_rng(seed).integers(different, size=size).astype(np.float32)
    found = largest(values, count)
    assert values[found].tolist() == sorted(values.tolist(), reverse=True)[:count]
    assert len(set(found.tolist())) == len(found)
    for one, other in pairwise(found):
        assert values[one] > values[other] or one < other


@given(seed=st.integers(0, 2**32 - 1), different=st.sampled_from([2, 50, 10**6]))
def test_the_best_piece_that_is_allowed_is_the_first_of_those(seed: int, different: int) -> None:
    random = np.random.default_rng(seed)
    logits, forbidden = random.integers(different, size=20).astype(np.float32), random.random(20) < 0.5
    forbidden[random.integers(20)] = False
    values = [float("-inf") if never else value for value, never in zip(logits.tolist(), forbidden, strict=True)]
    assert best_allowed(logits, forbidden) == values.index(max(values))


def test_forbidden_pieces_have_no_probability_and_ends_are_one() -> None:
    logits = np.linspace(0, 3, 12, dtype=np.float32)
    forbidden = np.zeros(12, dtype=bool)
    forbidden[[0, 11]] = True
    found = log_probabilities(logits, forbidden)
    chances = np.exp(logits[1:11].astype(np.float64))
    chances /= chances.sum()
    assert np.isneginf(found[[0, 11, BRK_ID, END_ID]]).all()
    assert found[SEP_ID] == pytest.approx(np.log(chances[np.array(CLOSING_IDS) - 1].sum()), abs=1e-6)
    assert found[[1, 2, 3, 7, 10]] == pytest.approx(np.log(chances[[0, 1, 2, 6, 9]]), abs=1e-6)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-6)
    forbidden[list(CLOSING_IDS)] = True
    assert np.isneginf(log_probabilities(logits, forbidden)[list(CLOSING_IDS)]).all()


def test_the_best_continue_what_was_likely_before() -> None:
    logits = [np.array([9] * 7 + last, dtype=np.float32) for last in ([0, 1, 2], [0.1, 3, 0])]
    forbidden = [np.array([True] * 7 + [False] * 3)] * 2
    own = [log_probabilities(row, flags) for row, flags in zip(logits, forbidden, strict=True)]
    best = best_continuations(logits, forbidden, [0.0, -1.5], 4)
    assert best.places.tolist() == [9, 8, 10 + 8, 7]
    np.testing.assert_allclose(best.scores, [own[0][9], own[0][8], own[1][8], own[0][7]])
    np.testing.assert_allclose(best.tops, [own[0][9], own[1][8]])
    assert len(best_continuations(logits, forbidden, [0.0, -1.5], 20).places) == 6
