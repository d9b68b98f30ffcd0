"""What is wrong with a sound, said for people: silent, clipped, without speech, or not understood."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from turia.speech.recogniser import RATE, Samples

SILENT_PEAK = 0.001
"""-60 dB: a microphone that is switched on has more noise than that."""
CLIPPED_SHARE = 0.001
FULL = 0.999
UNSURE = 0.75
"""A certainty below it: most words are wrong, or the language is another (docs/speech.md#how-it-works)."""
FEWEST_WORDS = 5
ENOUGH_SECONDS = 5.0
"""A shorter sound may well have no speech in it."""


class Complaint(NamedTuple):
    """What is wrong, for programs and for people."""

    code: str
    message: str


class SoundCheck:
    """Listens along, and complains at the end."""

    def __init__(self) -> None:
        self.samples = 0
        self.peak = 0.0
        self.words = 0
        self._clipped = 0

    @property
    def seconds(self) -> float:
        return self.samples / RATE

    def push(self, samples: Samples) -> None:
        if len(samples):
            loudness = np.abs(samples)
            self.samples += len(samples)
            self.peak = max(self.peak, float(loudness.max()))
            self._clipped += int((loudness >= FULL).sum())

    def complaints(self, certainty: float | None, language: str | None) -> list[Complaint]:
        """None if all is well. `certainty` and `language` are the recogniser's."""
        found: list[Complaint] = []
        if not self.samples:
            # There was no sound at all: whoever reads it has said why.
            return found
        if self.peak < SILENT_PEAK:
            silent = f"the sound is silent (peak {_decibels(self.peak)}); is the microphone on?"
            found.append(Complaint("silent", silent))
        elif self._clipped > CLIPPED_SHARE * self.samples:
            share = self._clipped / self.samples
            clipped = f"{share:.1%} of the sound is clipped, which costs words; record it with less gain"
            found.append(Complaint("clipped", clipped))
        if self.peak >= SILENT_PEAK and not self.words and self.seconds >= ENOUGH_SECONDS:
            found.append(Complaint("no-words", f"no words were understood in {self.seconds:.0f} seconds of sound"))
        if certainty is not None and certainty < UNSURE and self.words >= FEWEST_WORDS:
            known = f"; the recogniser knows {language!r} only" if language else ""
            unsure = f"little was understood (certainty {certainty:.2f}): noise, or another language{known}"
            found.append(Complaint("unsure", unsure))
        return found


def _decibels(peak: float) -> str:
    return f"{20 * math.log10(peak):.0f} dB" if peak > 0 else "0"
