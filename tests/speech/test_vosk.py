"""Vosk, as far as it can be tested without a model of it; tests/speech/test_recogniser.py has the contract."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.speech.fakes import sound
from tests.speech.libraries import install_vosk, vosk_folder
from turia.errors import ModelError
from turia.speech.vosk import VoskRecogniser, as_pcm


def test_a_folder_that_is_no_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)
    with pytest.raises(ModelError, match="not a Vosk model"):
        VoskRecogniser(tmp_path)


def test_a_model_with_missing_files_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)

    def fail(folder: str) -> None:
        raise Exception("Failed to create a model")

    monkeypatch.setattr("vosk.Model", fail)
    with pytest.raises(ModelError, match="Vosk cannot read this model; is it unpacked"):
        VoskRecogniser(vosk_folder(tmp_path))


def test_a_word_is_final_when_its_utterance_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)
    recogniser = VoskRecogniser(vosk_folder(tmp_path))
    heard = recogniser.push(sound((1, 0.5), (2, 0.5)))
    assert heard.final == ()
    assert [word.text for word in heard.partial] == ["w1", "w2"]
    assert [word.text for word in recogniser.push(sound((0, 1.0))).final] == ["w1", "w2"]
    assert recogniser.speech_seconds is None


def test_samples_become_16_bits_and_too_loud_ones_do_not_wrap_around() -> None:
    assert np.frombuffer(as_pcm(np.array([0, 1, -1, 2, -2, 0.5], np.float32)), "<i2").tolist() == [
        0, 32767, -32767, 32767, -32767, 16384,
    ]  # fmt: skip
