"""Who sees what. Every mask of the method is a prefix: position j sees the columns before some limit.

So a mask is a vector of limits, one for each row, and the three encoders differ in one line. Pure functions of a
window's layout; numpy only, because inference uses the same ones.

`anchor="sentence"`: k counts the words of each sentence (Eqs. 5 and 9). `anchor="window"`: k counts the pieces of the
window after its opening symbol, with slope 1 (Eq. 12 and the authors' code).
"""

from __future__ import annotations

import numpy as np

from turia.config import Anchor, Encoder
from turia.policy.waitk import Rounding, words_needed
from turia.text.layout import WHOLE, Ints, Rows, Window


def encoder_reach(window: Window, k: int | Ints, encoder: Encoder, anchor: Anchor) -> Ints:
    """[S] columns that each source position may attend to (METHOD section 4's table).

    With the anchor at the sentence, k may be [N]: the words of each sentence's first block.
    bidirectional: all that is there (Eq. 6); unidirectional: S .. j (Eq. 8); PBE: S .. max(anchor + k - 1, j) (Eqs. 9
    and 12).
    """
    length = len(window.ids)
    itself = np.arange(1, length + 1)
    if encoder == "bidirectional":
        return np.full(length, length)
    if encoder == "unidirectional":
        return itself
    if anchor == "window":
        return np.minimum(np.maximum(itself, 1 + k), length)
    first_block = words_limit(window, np.arange(len(window.words)), np.full(len(window.words), k))
    return np.maximum(itself, np.repeat(first_block, _sentence_lengths(window)))


def cross_limit(window: Window, rows: Rows, k: int, gamma: float, anchor: Anchor, rounding: Rounding = "floor") -> Ints:
    """[R] source columns that each decoder row may attend to: what was read when its word was written (Eq. 7)."""
    if anchor == "window":
        limit = np.minimum(1 + k + np.arange(len(rows.word)), len(window.ids))
        limit[-1] = len(window.ids)
        return limit
    return words_limit(window, rows.sentence, needed_words(rows.word, k, gamma, rounding))


def needed_words(word: Ints, k: int, gamma: float, rounding: Rounding = "floor") -> Ints:
    """Source words that the policy asks for before each target word (Eq. 4); WHOLE asks for all."""
    most = int(word[word < WHOLE].max(initial=1))
    table = np.array([words_needed(t, k, gamma, rounding) for t in range(1, most + 1)] + [WHOLE])
    return np.asarray(table[np.minimum(word, most + 1) - 1])


def words_limit(window: Window, sentence: Ints, count: Ints) -> Ints:
    """Columns that hold all earlier sentences and the first `count` (at least 1) words of sentence `sentence`."""
    read = np.minimum(count, window.words[sentence])
    return window.word_ends[window.first_word[sentence] + read - 1]


def _sentence_lengths(window: Window) -> Ints:
    """[N] positions of each sentence, its closing symbol included; the opening symbol counts to the first."""
    last_words = window.first_word + window.words - 1
    return np.asarray(np.diff(window.word_ends[last_words], prepend=0))
