"""Offsets: where sentences lie, empty ones included."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turia.stream.sentences import offsets


def test_offsets_are_the_words_before_each_sentence() -> None:
    assert offsets([3, 0, 2]) == [0, 3, 3, 5]
    assert offsets([]) == [0]


@given(st.lists(st.integers(0, 9), max_size=30))
def test_sentences_lie_end_to_end(lengths: list[int]) -> None:
    starts = offsets(lengths)
    assert [starts[n + 1] - starts[n] for n in range(len(lengths))] == lengths
    assert (starts[0], starts[-1]) == (0, sum(lengths))
