"""What users are told of a sound."""

from __future__ import annotations

import numpy as np
import pytest

from tests.speech.fakes import sound
from turia.speech.check import SoundCheck
from turia.speech.recogniser import RATE, Samples


def complaints(
    samples: Samples, words: int, certainty: float | None = 0.9, language: str | None = "en"
) -> list[tuple[str, str]]:
    check = SoundCheck()
    for begin in range(0, len(samples), 1000):
        check.push(samples[begin : begin + 1000])
    check.words = words
    return [(code, message) for code, message in check.complaints(certainty, language)]


def test_good_sound_gives_no_complaint() -> None:
    assert complaints(sound((3, 6.0)), 20) == []
    assert complaints(sound((3, 1.0)), 0, None) == [], "too short to expect words"


def test_silence_is_told() -> None:
    for samples, peak in ((sound((0, 6.0)), "0"), (np.full(RATE, 1e-4, np.float32), "-80 dB")):
        message = f"the sound is silent (peak {peak}); is the microphone on?"
        assert complaints(samples, 0, None) == [("silent", message)]


def test_no_sound_at_all_is_told_by_who_reads_it() -> None:
    assert complaints(sound(), 0, None) == []


def test_clipping_is_told() -> None:
    clipped = np.clip(3 * np.sin(np.arange(6 * RATE) / 10), -1, 1).astype(np.float32)
    ((code, message),) = complaints(clipped, 20)
    assert code == "clipped"
    assert "of the sound is clipped" in message


def test_sound_without_words_is_told() -> None:
    assert complaints(sound((3, 6.0)), 0, None) == [("no-words", "no words were understood in 6 seconds of sound")]


@pytest.mark.parametrize("language", ["en", None])
def test_another_language_is_told(language: str | None) -> None:
    ((code, message),) = complaints(sound((3, 6.0)), 20, 0.5, language)
    assert code == "unsure"
    assert message.startswith("little was understood (certainty 0.50): noise, or another language")
    assert message.endswith("knows 'en' only") == (language is not None)
