"""Windows position by position, and the paper's figure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.text.layout import WHOLE, Sentence, closing_symbol, lay_out, target_rows
from turia.text.symbols import BRK_ID, CONT_ID, DOC_ID, END_ID, SEP_ID


def sentence(ids: list[int], pieces: list[int]) -> Sentence:
    return Sentence(np.array(ids), np.array(pieces))


ONE, TWO = sentence([10, 11, 12], [2, 1]), sentence([20, 21], [1, 1])


def test_a_window_position_by_position() -> None:
    window = lay_out([ONE, TWO], opens=True, closing=BRK_ID)
    assert window.ids.tolist() == [DOC_ID, 10, 11, 12, SEP_ID, 20, 21, BRK_ID]
    # Words end after their last piece; the last word of a sentence takes the closing symbol with it.
    assert window.word_ends.tolist() == [3, 5, 6, 8]
    assert window.first_word.tolist() == [0, 2]
    assert window.words.tolist() == [2, 2]


def test_a_sentence_being_spoken_has_no_closing_symbol() -> None:
    window = lay_out([ONE, TWO], opens=False, closing=None)
    assert window.ids.tolist() == [CONT_ID, 10, 11, 12, SEP_ID, 20, 21]
    assert window.word_ends.tolist() == [3, 5, 6, 7]


def test_words_without_pieces_take_no_position() -> None:
    window = lay_out([sentence([10], [0, 1, 0])], opens=True, closing=END_ID)
    assert window.ids.tolist() == [DOC_ID, 10, END_ID]
    assert window.word_ends.tolist() == [1, 2, 3]


def test_an_empty_last_sentence_is_a_prefix_to_write_after() -> None:
    empty = sentence([], [])
    assert lay_out([TWO, empty], opens=True, closing=None).ids.tolist() == [DOC_ID, 20, 21, SEP_ID]
    assert lay_out([empty], opens=False, closing=None).ids.tolist() == [CONT_ID]


@pytest.mark.parametrize(("ends", "symbol"), [(True, END_ID), (False, BRK_ID)])
def test_the_last_sentence_of_a_document_is_closed_otherwise(ends: bool, symbol: int) -> None:
    assert closing_symbol(ends) == symbol


def test_rows_say_which_word_they_predict() -> None:
    rows = target_rows([ONE, TWO])
    assert rows.sentence.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert rows.word.tolist() == [1, 1, 2, WHOLE, 1, 2, WHOLE]


@given(
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=9), min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from([None, BRK_ID, END_ID]),
)
def test_every_position_belongs_to_one_word(pieces: list[list[int]], opens: bool, closing: int | None) -> None:
    sentences = [sentence([9] * sum(words), words) for words in pieces]
    window = lay_out(sentences, opens, closing)
    assert window.word_ends[-1] == len(window.ids)
    assert (np.diff(window.word_ends) > 0).all()
    assert window.words.sum() == len(window.word_ends)
    if closing is not None:
        assert len(target_rows(sentences).word) == len(window.ids) - 1
