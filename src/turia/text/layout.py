"""How a window of sentences lies in a sequence of positions (METHOD section 3).

    <DOC|CONT> x_1 <SEP> x_2 <SEP> x_3 <BRK|END>

A *flowing* window has no `<SEP>`: nobody has said where its sentences end (docs/decisions/036). So are the sources of
models that find sentence ends by themselves; their targets are as above.

Training and inference build their windows here, so that what is trained is what is run. A sentence is given as its
piece ids and the number of pieces of each word. Positions are 0-based, position 0 is the opening symbol. A closing
symbol belongs to the last word of its sentence: the two become visible together.

Letters: L positions, N sentences, W words of the window, R decoder rows (R = L - 1: row r predicts position r + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.text.symbols import BRK_ID, CONT_ID, DOC_ID, END_ID, SEP_ID

Ints = npt.NDArray[np.int64]

WHOLE = 1 << 20
"""The word number of a row that predicts a closing symbol: it needs the whole source sentence."""


class Sentence(NamedTuple):
    """One side of a sentence pair in subwords."""

    ids: npt.NDArray[np.integer]
    pieces: npt.NDArray[np.integer]
    """Pieces of each word; their sum is len(ids)."""


@dataclass(frozen=True)
class Window:
    """One side of a window."""

    ids: Ints
    """[L]"""
    word_ends: Ints
    """[W] position after the last piece of each word; a closing symbol counts to the last word of its sentence."""
    first_word: Ints
    """[N] index into `word_ends` of each sentence's first word."""
    words: Ints
    """[N] words of each sentence."""
    flowing: bool = False
    """Whether its sentences follow each other without a symbol: one may be read before the one before it is over."""


def lay_out(
    sentences: Sequence[Sentence],
    opens: bool,
    closing: int | None,
    opening: bool = True,
    language: int | None = None,
    flowing: bool = False,
) -> Window:
    """The window of `sentences`; `opens` if the first one begins its document. A `flowing` one has no separators.

    `closing` is BRK_ID or END_ID, or None while the last sentence is still being spoken. Without `opening` the window
    has no opening symbol: so are the sources of models that came from Marian. `language`, the piece of a language,
    stands in place of the opening symbol.
    """
    last = len(sentences) - 1
    first = (DOC_ID if opens else CONT_ID) if language is None else language
    parts: list[npt.NDArray[np.integer]] = [_symbol(first)] if opening else []
    ends: list[Ints] = []
    position = len(parts)
    for n, sentence in enumerate(sentences):
        word_ends = position + np.cumsum(sentence.pieces, dtype=np.int64)
        position += len(sentence.ids)
        parts.append(sentence.ids)
        symbol = closing if n == last else None if flowing else SEP_ID
        if symbol is not None:
            parts.append(_symbol(symbol))
            position += 1
            word_ends[-1:] += 1
        ends.append(word_ends)
    words = np.array([len(sentence.pieces) for sentence in sentences], dtype=np.int64)
    return Window(
        ids=np.concatenate(parts).astype(np.int64, copy=False),
        word_ends=ends[0] if last == 0 else np.concatenate(ends),
        first_word=np.cumsum(words) - words,
        words=words,
        flowing=flowing,
    )


@cache
def _symbol(piece: int) -> Ints:
    """[1]"""
    return np.array([piece])


def closing_symbol(ends_document: bool) -> int:
    """The symbol that closes the last sentence of a window."""
    return END_ID if ends_document else BRK_ID


class Rows(NamedTuple):
    """Which word of which sentence each decoder row predicts."""

    sentence: Ints
    """[R]"""
    word: Ints
    """[R] 1-based word inside its sentence; WHOLE for a closing symbol."""


def target_rows(target: Sequence[Sentence]) -> Rows:
    """The rows of a target window whose sentences are all closed; row 0 predicts the first piece."""
    sentence_parts, word_parts = [], []
    for n, sentence in enumerate(target):
        numbers = np.repeat(np.arange(1, len(sentence.pieces) + 1), sentence.pieces)
        word_parts.append(np.append(numbers, WHOLE))
        sentence_parts.append(np.full(len(numbers) + 1, n))
    return Rows(np.concatenate(sentence_parts), np.concatenate(word_parts))
