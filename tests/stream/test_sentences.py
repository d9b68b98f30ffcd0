"""Offsets: where sentences lie, empty ones included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.stream.sentences import offsets, sentence_of


def test_offsets_are_the_words_before_each_sentence() -> None:
    assert offsets([3, 0, 2]) == [0, 3, 3, 5]
    assert offsets([]) == [0]


def test_an_empty_sentence_holds_no_word() -> None:
    assert [sentence_of(position, [0, 3, 3, 5]) for position in range(5)] == [0, 0, 0, 2, 2]


@pytest.mark.parametrize("position", [-1, 5])
def test_a_position_outside_the_stream_is_refused(position: int) -> None:
    with pytest.raises(IndexError, match=f"position {position} is outside a stream of 5 words"):
        sentence_of(position, [0, 3, 3, 5])


@given(st.lists(st.integers(0, 9), max_size=30))
def test_every_word_lies_in_its_sentence(lengths: list[int]) -> None:
    starts = offsets(lengths)
    assert [starts[n + 1] - starts[n] for n in range(len(lengths))] == lengths
    # The sentence of each word, written out the long way.
    owners = [n for n, length in enumerate(lengths) for _ in range(length)]
    assert [sentence_of(position, starts) for position in range(starts[-1])] == owners
