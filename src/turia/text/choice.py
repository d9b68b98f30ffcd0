"""Which pieces may come next in a translation (METHOD sections 2 and 7).

Reserved symbols never appear in a word; a closing symbol comes only between words, and only when the source sentence is
complete; a word is never empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.text.subwords import Subwords
from turia.text.symbols import CLOSING_IDS

Flags = npt.NDArray[np.bool_]


class Forbidden(NamedTuple):
    """[V] pieces that may not come next; one table for each place that a writer can be in."""

    word_start: Flags
    """Between words, the source sentence still going on."""
    word_start_or_end: Flags
    """Between words, the source sentence complete: a closing symbol may come."""
    in_word: Flags


def forbidden_pieces(subwords: Subwords) -> Forbidden:
    """The tables for one vocabulary."""
    symbols = subwords.is_control
    if subwords.space_first:
        return _space_first(subwords)
    start = symbols | subwords.starts_empty_word
    start_or_end = start.copy()
    start_or_end[list(CLOSING_IDS)] = False
    return Forbidden(start, start_or_end, symbols.copy())


def _space_first(subwords: Subwords) -> Forbidden:
    """A word begins with a piece that has the space; such a piece, or a closing symbol, also shows that one is over."""
    start = subwords.is_control | ~subwords.starts_word
    start_or_end, in_word = start.copy(), subwords.is_control.copy()
    start_or_end[list(CLOSING_IDS)] = in_word[list(CLOSING_IDS)] = False
    return Forbidden(start, start_or_end, in_word)
