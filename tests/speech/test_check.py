"""What users are told of a sound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.speech.fakes import sound
from turia.speech.check import SoundCheck
from turia.speech.recogniser import RATE, Recognised, Samples


@dataclass
class Told:
    """A recogniser that has heard."""

    certainty: float | None = 0.9
    language: str | None = "en"
    speech_seconds: float | None = None

    def push(self, samples: Samples) -> Recognised:
        return Recognised()

    def flush(self) -> Recognised:
        return Recognised()


def complaints(samples: Samples, words: int, recogniser: Told) -> list[str]:
    check = SoundCheck()
    for begin in range(0, len(samples), 1000):
        check.push(samples[begin : begin + 1000])
    check.words = words
    return check.complaints(recogniser)


def test_good_sound_gives_no_complaint() -> None:
    assert complaints(sound((3, 6.0)), 20, Told()) == []
    assert complaints(sound((3, 1.0)), 0, Told(None)) == [], "too short to expect words"


def test_silence_is_told() -> None:
    assert complaints(sound((0, 6.0)), 0, Told(None)) == ["the sound is silent (peak 0); is the microphone on?"]
    assert complaints(np.full(RATE, 1e-4, np.float32), 0, Told(None)) == [
        "the sound is silent (peak -80 dB); is the microphone on?"
    ]


def test_clipping_is_told() -> None:
    clipped = np.clip(3 * np.sin(np.arange(6 * RATE) / 10), -1, 1).astype(np.float32)
    (complaint,) = complaints(clipped, 20, Told())
    assert "of the sound is clipped" in complaint


def test_sound_without_words_is_told() -> None:
    assert complaints(sound((3, 6.0)), 0, Told(None)) == ["no words were understood in 6 seconds of sound"]


@pytest.mark.parametrize("language", ["en", None])
def test_another_language_is_told(language: str | None) -> None:
    (complaint,) = complaints(sound((3, 6.0)), 20, Told(0.5, language))
    assert complaint.startswith("little was understood (certainty 0.50): noise, or another language")
    assert complaint.endswith("knows 'en' only") == (language is not None)
