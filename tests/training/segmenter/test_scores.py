"""Boundary scores by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.segmentation import every, run, stream_of
from turia.segmenter.online import GivenSegmenter
from turia.training.segmenter.scores import best_threshold, macro_f1, score


def flags(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.array([letter == "1" for letter in text])


def test_values() -> None:
    found = score(flags("110010"), flags("010011"))
    assert (found.right, found.found, found.expected) == (2, 3, 3)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(2 / 3)
    assert macro_f1(flags("110010"), flags("010011")) == pytest.approx(2 / 3)
    assert score(flags("00"), flags("00")).f1 == 0
    assert macro_f1(flags("01"), flags("01")) == 1


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_is_better_than_the_best(samples: list[tuple[int, bool]]) -> None:
    probabilities = np.array([value / 20 for value, _ in samples])
    expected = np.array([end for _, end in samples])
    best = score(probabilities >= best_threshold(probabilities, expected), expected).f1
    assert best == max(score(probabilities >= value, expected).f1 for value in probabilities)


def test_the_baseline_keeps_the_average_length() -> None:
    assert np.flatnonzero(every(2.5, 10)).tolist() == [2, 4, 7, 9]
    assert np.flatnonzero(every(4, 6)).tolist() == [3, 5]


def test_a_corpus_as_a_stream() -> None:
    words, ends = stream_of([["a", "b", "–"], [], ["c"]])
    assert words == ["a", "b", "–", "c"]
    assert ends.tolist() == [False, False, True, True]


@pytest.mark.parametrize("window", range(4))
def test_the_end_of_the_stream_is_a_boundary_also_where_its_word_was_out(window: int) -> None:
    assert run(GivenSegmenter([1, 9], window), ["a", "b", "c"]).tolist() == [True, False, True]
