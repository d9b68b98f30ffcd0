"""What is wrong with a sound, said for people: silent, clipped, without speech, or not understood."""

from __future__ import annotations

import math

import numpy as np

from turia.speech.recogniser import RATE, Recogniser, Samples

SILENT_PEAK = 0.001
"""-60 dB: a microphone that is switched on has more noise than that."""
CLIPPED_SHARE = 0.001
FULL = 0.999
UNSURE = 0.7
"""A certainty below it: most words are wrong, or the language is another. English speech has 0.8 to 0.95."""
FEWEST_WORDS = 5
ENOUGH_SECONDS = 5.0
"""A shorter sound may well have no speech in it."""


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

    def complaints(self, recogniser: Recogniser) -> list[str]:
        """One line each; none if all is well."""
        found = []
        if self.peak < SILENT_PEAK:
            found.append(f"the sound is silent (peak {_decibels(self.peak)}); is the microphone on?")
        elif self._clipped > CLIPPED_SHARE * self.samples:
            share = self._clipped / self.samples
            found.append(f"{share:.1%} of the sound is clipped, which costs words; record it with less gain")
        if self.peak >= SILENT_PEAK and not self.words and self.seconds >= ENOUGH_SECONDS:
            found.append(f"no words were understood in {self.seconds:.0f} seconds of sound")
        certainty = recogniser.certainty
        if certainty is not None and certainty < UNSURE and self.words >= FEWEST_WORDS:
            language = f"; the recogniser knows {recogniser.language!r} only" if recogniser.language else ""
            found.append(f"little was understood (certainty {certainty:.2f}): noise, or another language{language}")
        return found


def _decibels(peak: float) -> str:
    return f"{20 * math.log10(peak):.0f} dB" if peak > 0 else "0"
