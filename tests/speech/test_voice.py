"""Silero's detector hears speech, and neither silence nor a tone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from turia.speech.recogniser import RATE, Samples
from turia.speech.sound import file_sound
from turia.speech.voice import CHUNK, SileroDetector

ENGLISH = Path(__file__).parents[2] / "examples/speech/english.wav"


def share_of_speech(sound: Samples) -> float:
    detector = SileroDetector()
    return float(np.mean([detector(sound[i : i + CHUNK]) >= 0.5 for i in range(0, len(sound) - CHUNK, CHUNK)]))


def test_speech_is_told_from_silence_and_a_tone() -> None:
    speech = np.concatenate(list(file_sound(ENGLISH)))[: 3 * RATE]
    tone = (0.3 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE)).astype(np.float32)
    assert share_of_speech(speech) > 0.8
    assert share_of_speech(np.zeros(RATE, np.float32)) == 0
    assert share_of_speech(tone) < 0.1
