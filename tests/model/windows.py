"""Small windows for tests of masks and models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from turia.text.layout import Sentence, Window, lay_out
from turia.text.symbols import BRK_ID, END_ID

FIRST_PIECE = 7


def sentence(pieces: Sequence[int], first: int = FIRST_PIECE) -> Sentence:
    """A sentence whose words have the given numbers of pieces."""
    return Sentence(np.arange(first, first + sum(pieces)), np.array(pieces))


def window(*sentences: Sequence[int]) -> Window:
    return lay_out([sentence(pieces) for pieces in sentences], opens=True, closing=END_ID)


sentences = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=1, max_size=4)
"""Pieces per word, per sentence, of one side of a window."""


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Sentence], list[Sentence]]:
    """Both sides of a window, with as many sentences."""
    source = draw(sentences)
    words = st.lists(st.integers(1, 3), min_size=1, max_size=8)
    target = draw(st.lists(words, min_size=len(source), max_size=len(source)))
    return [sentence(pieces) for pieces in source], [sentence(pieces) for pieces in target]


def lay_out_pair(source: list[Sentence], target: list[Sentence]) -> tuple[Window, Window]:
    return lay_out(source, True, BRK_ID), lay_out(target, True, BRK_ID)
