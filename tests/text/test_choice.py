"""Which pieces may come next."""

from __future__ import annotations

import numpy as np

from tests.engine.fakes import subwords
from turia.text.choice import forbidden_pieces
from turia.text.symbols import BRK_ID, CLOSING_IDS, CONT_ID, DOC_ID, END_ID, PAD_ID, SEP_ID, UNK_ID


def test_symbols_never_come_inside_or_in_place_of_words() -> None:
    tables = forbidden_pieces(subwords())
    for table in tables:
        assert table[[PAD_ID, UNK_ID, DOC_ID, CONT_ID]].all()
    assert tables.word_start[list(CLOSING_IDS)].all()
    assert tables.in_word[list(CLOSING_IDS)].all()
    assert not tables.word_start_or_end[[SEP_ID, BRK_ID, END_ID]].any()


def test_a_word_is_never_empty() -> None:
    tables = forbidden_pieces(subwords())
    lone = subwords().pieces.index("▁")
    assert tables.word_start[lone]
    assert tables.word_start_or_end[lone]
    assert not tables.in_word[lone], "but a word may end in it"


def test_every_text_piece_may_begin_a_word() -> None:
    tables = forbidden_pieces(subwords())
    text = ~subwords().is_control & ~subwords().starts_empty_word
    assert not tables.word_start[text].any()
    assert np.flatnonzero(~tables.in_word).min() > END_ID
