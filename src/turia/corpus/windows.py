"""History samples: which sentences of a document make a training window (METHOD section 3). Pure arithmetic.

A window holds sentences first..last, both included, that truly follow each other. Its history, all but the
last sentence, stays within `history` words on both sides, special symbols not counted. Lengths come for a run
of adjacent sentences; a document with a dropped pair is several runs.

Positions: a window takes one opening symbol, and one closing symbol for each sentence, on top of its pieces.
A window that would need more than `max_positions` begins later (sliding) or ends earlier (consecutive). A single pair
that would need more must be dropped by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turia.stream.history import history_start


class Lengths(NamedTuple):
    """A sentence pair: words and pieces of both sides."""

    source_words: int
    target_words: int
    source_pieces: int
    target_pieces: int


class SentenceSpan(NamedTuple):
    """Sentences first..last of a run, both included."""

    first: int
    last: int


def positions(pieces: int, sentences: int) -> int:
    """Positions of one side of a window: pieces, an opening symbol, and a closing one for each sentence."""
    return pieces + sentences + 1


def fits(pairs: Sequence[Lengths], max_positions: int) -> bool:
    """Whether a window of `pairs` fits into the model on both sides."""
    source = sum(pair.source_pieces for pair in pairs)
    target = sum(pair.target_pieces for pair in pairs)
    return positions(max(source, target), len(pairs)) <= max_positions


def sliding(pairs: Sequence[Lengths], history: int, max_positions: int) -> list[SentenceSpan]:
    """One window for each sentence: it with the history it would have in a stream (the paper's figure)."""
    windows = []
    for last in range(len(pairs)):
        # No history longer than `history` sentences fits, as a pair has at least a word on a side.
        oldest = max(0, last - history)
        past = pairs[oldest:last]
        first = oldest + history_start(
            [pair.source_words for pair in past], [pair.target_words for pair in past], history
        )
        while first < last and not fits(pairs[first : last + 1], max_positions):
            first += 1
        windows.append(SentenceSpan(first, last))
    return windows


def consecutive(pairs: Sequence[Lengths], history: int, max_positions: int) -> list[SentenceSpan]:
    """Every sentence in exactly one window, each as long as the history of its last sentence allows."""
    windows: list[SentenceSpan] = []
    first = 0
    while first < len(pairs):
        last = first
        source, target = pairs[first].source_words, pairs[first].target_words
        while last + 1 < len(pairs) and max(source, target) <= history and fits(pairs[first : last + 2], max_positions):
            last += 1
            source += pairs[last].source_words
            target += pairs[last].target_words
        windows.append(SentenceSpan(first, last))
        first = last + 1
    return windows
