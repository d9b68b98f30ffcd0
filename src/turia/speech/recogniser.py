"""What a speech recogniser must offer: sound in, words with times out.

Rules: sound is 16 kHz, mono, float32 from -1 to 1, in blocks of any length; how it is cut makes no difference to the
words. Times are seconds from the first sample. A word that was given as final is never taken back. There is no clock in
a recogniser: a file can be recognised as fast as the machine goes, with the same words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from turia.stream.times import SpokenWord

Samples = npt.NDArray[np.float32]
RATE = 16_000
"""Samples a second."""


@dataclass(frozen=True)
class Recognised:
    """What a recogniser has understood since it was last asked."""

    final: tuple[SpokenWord, ...] = ()
    """New words that will not change."""
    partial: tuple[SpokenWord, ...] = ()
    """The present guess at what follows them. The next guess replaces it as a whole."""


@dataclass(frozen=True)
class Restart:
    """Where another recogniser would have to begin to go on without losing or doubling a word."""

    at: float = 0.0
    """Seconds: the sound from here on is needed again."""
    words: int = 0
    """How many of the newest final words were spoken after that."""


class Recogniser(Protocol):
    """One speaker's recogniser. After `flush` it takes no more sound."""

    @property
    def language(self) -> str | None:
        """The code of the language it knows, such as "en"; None if it does not say."""
        ...

    @property
    def certainty(self) -> float | None:
        """How sure it was of its final words: the share of them that were likelier than not (`speech/certainty.py`);
        None without words, or if it does not say."""
        ...

    @property
    def speech_seconds(self) -> float | None:
        """Seconds of the sound so far that it took for speech; None if it does not say."""
        ...

    hurried: bool
    """Set from outside while sound waits to be recognised: it may then leave out guesses, so that words come later, but
    in time with the speech again."""

    @property
    def restart(self) -> Restart:
        """What another recogniser would need to go on from here."""
        ...

    def push(self, samples: Samples) -> Recognised:
        """More sound."""
        ...

    def flush(self) -> Recognised:
        """The sound is over: all that is left is final."""
        ...
