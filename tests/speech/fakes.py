"""A detector and a decoder that run without any model: the loudness of a sound says what is spoken in it.

A sample of 0 is silence. Every other chunk of the detector is speech. The decoder hears a word wherever a new level
begins: level 0.1 is "w1", 0.2 is "w2", and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from turia.speech.agreement import DecodedWord
from turia.speech.recogniser import RATE, Samples


def sound(*parts: tuple[int, float]) -> Samples:
    """Levels and their seconds; level 0 is silence."""
    levels = [np.full(round(seconds * RATE), level / 10, np.float32) for level, seconds in parts]
    return np.concatenate([np.zeros(0, np.float32), *levels])


def loud(chunk: Samples) -> float:
    """A detector."""
    return float(np.abs(chunk).max() > 0.05)


class LevelDecoder:
    """Hears levels as words, and remembers what it was asked."""

    language = "en"

    def __init__(self) -> None:
        self.lengths: list[float] = []
        """Seconds of each sound that was decoded."""

    def decode(self, sound: Samples, speech: tuple[float, float]) -> list[DecodedWord]:
        self.lengths.append(len(sound) / RATE)
        levels = np.round(10 * sound).astype(int)
        edges = [0, *(np.flatnonzero(np.diff(levels)) + 1), len(levels)]
        return [
            DecodedWord(f"w{levels[begin]}", begin / RATE, end / RATE, 0.9)
            for begin, end in itertools.pairwise(edges)
            if levels[begin]
        ]


def word(text: str, start: float = 0.0, end: float = 0.0) -> DecodedWord:
    return DecodedWord(text, start, end, 1.0)


def texts(words: Sequence[DecodedWord]) -> list[str]:
    return [word.text for word in words]
