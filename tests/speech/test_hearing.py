"""A recogniser over a sound. What is heard is in tests/commands/test_listen.py too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.speech.fakes import LevelDecoder, loud, sound
from turia.speech.hearing import Hearing
from turia.speech.recogniser import RATE, Samples
from turia.speech.redecoding import RedecodingRecogniser
from turia.stream.times import Silent, SpokenWord, UnstableTail


def hearing() -> Hearing:
    return Hearing(RedecodingRecogniser(LevelDecoder(), loud))


def push(into: Hearing, samples: Samples) -> list[str]:
    """What the sound leads to, and what is complained of, both as they come."""
    shown = []
    for begin in range(0, len(samples), 1600):
        for item in into.push(samples[begin : begin + 1600]):
            match item:
                case SpokenWord(text):
                    shown.append(text)
                case UnstableTail(text):
                    shown.append(f"[{text}]")
                case Silent():
                    shown.append("...")
        shown += [f"!{complaint.code}" for complaint in into.new_complaints()]
    return shown


def test_words_tails_and_silences_come_in_order() -> None:
    assert push(hearing(), sound((1, 0.7), (2, 0.7), (0, 2.0))) == ["[w1]", "w1", "[w2]", "w2", "..."]


def test_each_complaint_is_about_the_last_ten_seconds() -> None:
    ear = hearing()
    assert push(ear, sound((0, 9.9))) == []
    assert push(ear, sound((0, 0.1))) == ["!silent"]
    clipped = sound((10, 0.1), (0, 9.9))
    assert push(ear, clipped)[-1] == "!clipped"
    # Nobody speaks, but the microphone is on.
    assert push(ear, np.full(10 * RATE, 0.01, np.float32)) == []


@pytest.mark.parametrize(("probability", "complaints"), [(0.9, []), (0.5, ["!unsure"])])
def test_what_is_not_understood_is_told_though_it_was_before(probability: float, complaints: list[str]) -> None:
    class Unsure(RedecodingRecogniser):
        sure, words = 0.9 * 100, 100

        @property
        def certainty(self) -> float:
            return self.sure / self.words

    recogniser = Unsure(LevelDecoder(), loud)
    ear = Hearing(recogniser)
    ear.check.words, ear._sure = 100, 90.0
    spoken = sound(*[(1, 0.5), (2, 0.5)] * 10)
    shown = []
    for begin in range(0, len(spoken), 1600):
        for item in ear.push(spoken[begin : begin + 1600]):
            if isinstance(item, SpokenWord):
                recogniser.sure += probability
                recogniser.words += 1
        shown += [f"!{complaint.code}" for complaint in ear.new_complaints()]
    assert shown == complaints
