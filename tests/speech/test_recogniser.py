"""The contract that every recogniser keeps: Moonshine with its model, the others with fakes of their libraries.

What is tested of Vosk and Whisper here is how they are called and what becomes of their answers. test_whisper.py has
one test with a real model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.speech.fakes import LevelDecoder, loud, sound
from tests.speech.libraries import install_vosk, install_whisper, vosk_folder, whisper_folder
from turia.speech.recogniser import RATE, Recogniser
from turia.speech.redecoding import RedecodingRecogniser
from turia.speech.vosk import VoskRecogniser
from turia.speech.whisper import WhisperDecoder

SPOKEN = sound((0, 0.5), (1, 0.7), (2, 0.7), (0, 1.0), (3, 0.8), (0, 1.0), (4, 0.5))


@pytest.fixture(params=["levels", "vosk", "whisper"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Recogniser]:
    if request.param == "vosk":
        install_vosk(monkeypatch)
        folder = vosk_folder(tmp_path)
        return lambda: VoskRecogniser(folder, "en")
    if request.param == "whisper":
        install_whisper(monkeypatch)
        folder = whisper_folder(tmp_path)
        return lambda: RedecodingRecogniser(WhisperDecoder(folder, "en"), loud)
    return lambda: RedecodingRecogniser(LevelDecoder(), loud)


@pytest.mark.parametrize("chunk", [160, 1600, 7777, len(SPOKEN)])
def test_the_contract(make: Callable[[], Recogniser], chunk: int) -> None:
    recogniser = make()
    assert recogniser.certainty is None
    heard = [recogniser.push(SPOKEN[begin : begin + chunk]) for begin in range(0, len(SPOKEN), chunk)]
    heard.append(recogniser.flush())
    words = [word for each in heard for word in each.final]
    assert [word.text for word in words] == ["w1", "w2", "w3", "w4"]
    assert [word.end for word in words] == pytest.approx([1.2, 1.9, 3.7, 5.2], abs=0.11)
    assert all(word.start is not None and word.end is not None and word.start <= word.end for word in words)
    assert heard[-1].partial == ()
    assert any(each.partial for each in heard) or chunk == len(SPOKEN)
    assert recogniser.certainty == 1.0
    assert recogniser.language == "en"


def test_nothing_said_is_nothing_heard(make: Callable[[], Recogniser]) -> None:
    recogniser = make()
    heard = [recogniser.push(np.zeros(RATE, np.float32)), recogniser.push(np.zeros(0, np.float32)), recogniser.flush()]
    assert all(not each.final and not each.partial for each in heard)
