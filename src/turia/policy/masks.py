"""Who sees what. Every mask of the method is a prefix: position j sees the columns before some limit.

So a mask is a vector of limits, one for each row, and the three encoders differ in one line. Pure functions of a
window's layout; numpy only, because inference uses the same ones.

`anchor="sentence"`: k counts the words of each sentence (Eqs. 5 and 9). `anchor="window"`: k counts the pieces of the
window after its opening symbol, with slope 1 (Eq. 12 and the authors' code).
"""

from __future__ import annotations

from typing import NamedTuple

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
    if len(window.words) == 1:
        words = min(k if isinstance(k, int) else int(k[0]), int(window.words[0]))
        return np.maximum(itself, int(window.word_ends[words - 1]))
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
    """Columns that hold all earlier sentences and the first `count` (at least 1) words of sentence `sentence`. In a
    flowing window, words after the sentence count as well."""
    most = len(window.word_ends) - window.first_word[sentence] if window.flowing else window.words[sentence]
    read = np.minimum(count, most)
    return window.word_ends[window.first_word[sentence] + read - 1]


class FlowingReads(NamedTuple):
    """What has been read when, in a flowing window: words, from the first one of a sentence on."""

    before: Ints
    """[N] when the sentence before it was ended by its separator; none before the first sentence."""
    first: Ints
    """[N] when its first word was written."""
    rows: Ints
    """[R] when each row was computed."""


def flowing_reads(window: Window, rows: Rows, needed: Ints) -> FlowingReads:
    """What has been read in a flowing window under a policy that asks for `needed` words at each row.

    What was read for one sentence stays read for the next, so the first word of a sentence may see more than its policy
    asks for. A separator is written when its sentence has been read, at the earliest.
    """
    parts = separators(rows)
    wanted = needed.copy()
    wanted[parts] = np.maximum(wanted[parts], window.words[rows.sentence[parts]])
    begins = window.first_word[rows.sentence]
    read = np.maximum.accumulate(np.minimum(begins + wanted, len(window.word_ends))) - begins
    before = np.zeros(len(window.words), dtype=np.int64)
    before[1:] = read[parts] - window.words[:-1]
    return FlowingReads(before, read[np.flatnonzero(np.diff(rows.sentence, prepend=-1))], read)


def flowing_reach(window: Window, before: Ints, first: Ints, encoder: Encoder) -> Ints:
    """[S] columns that each source position of a flowing window may attend to; `before` and `first` as above.

    As in `encoder_reach`, but that a partial bidirectional encoder has smaller blocks. A word that was read while the
    sentence before it was written must not have seen later ones, which had not been read: its block begins after it.
    """
    if encoder != "pbe":
        return encoder_reach(window, 1, encoder, "sentence")
    reach = np.arange(1, len(window.ids) + 1)
    ends = np.append(0, window.word_ends)
    blocks = np.minimum(window.first_word[:, None] + np.stack([before, first], axis=1), len(window.word_ends))
    for begin, end in ends[blocks]:
        reach[begin:end] = np.maximum(reach[begin:end], end)
    return reach


def with_separators_numbered(rows: Rows) -> Rows:
    """The rows of a flowing window: a separator is written as if it were the next word of its sentence."""
    parts = separators(rows)
    word = rows.word.copy()
    word[parts] = word[parts - 1] + 1
    return Rows(rows.sentence, word)


def separators(rows: Rows) -> Ints:
    """Rows that predict a separator: the last one of each sentence but the last."""
    return np.flatnonzero(np.diff(rows.sentence))


def _sentence_lengths(window: Window) -> Ints:
    """[N] positions of each sentence, its closing symbol included; the opening symbol counts to the first."""
    last_words = window.first_word + window.words - 1
    return np.asarray(np.diff(window.word_ends[last_words], prepend=0))
