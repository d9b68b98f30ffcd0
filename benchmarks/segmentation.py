"""How well a segmenter finds the sentences of a corpus online, with its own past boundaries, as it will be used.

A corpus is one stream, its documents one after the other. The last boundary counts as found by everyone, because it is
the end of the stream. benchmarks/segmenter.py prints the figures; tests compare with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from turia.segmenter.online import Segmenter
from turia.training.segmenter.scores import BoundaryScore, Flags, score


def stream_of(sentences: Iterable[Sequence[str]]) -> tuple[list[str], Flags]:
    """The words of `sentences` and, for each, whether a sentence ends there; empty ones are left out."""
    words: list[str] = []
    ends: list[bool] = []
    for sentence in sentences:
        words += sentence
        ends += [False] * (len(sentence) - 1) + [True] * bool(sentence)
    return words, np.array(ends, dtype=np.bool_)


def run(segmenter: Segmenter, words: Sequence[str]) -> Flags:
    """[N] whether the segmenter ended a sentence at each word of a stream."""
    ends: list[bool] = []
    for word in words:
        for visible in segmenter.push(word):
            ends.append(visible.ends_sentence)
    for visible in segmenter.flush():
        if visible.word is None:
            ends[-1] = True
        else:
            ends.append(visible.ends_sentence)
    assert len(ends) == len(words)
    return np.array(ends, dtype=np.bool_)


def every(length: float, words: int) -> Flags:
    """The baseline: a boundary every `length` words on average, knowing nothing but that average."""
    numbers = np.arange(1, words + 1)
    ends: Flags = np.floor(numbers / length) > np.floor((numbers - 1) / length)
    ends[-1] = True
    return ends


def evaluate(segmenter: Segmenter, words: Sequence[str], expected: Flags) -> BoundaryScore:
    """Boundaries of the segmenter against those of the corpus."""
    return score(run(segmenter, words), expected)
