"""faster-whisper, as far as it can be tested without a model; tests/speech/test_recogniser.py has the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.speech.fakes import sound
from tests.speech.libraries import WhisperModel, install_whisper, whisper_folder
from turia.errors import ModelError
from turia.speech.agreement import DecodedWord
from turia.speech.whisper import WhisperDecoder


def test_a_folder_without_a_model_is_refused_and_nothing_is_looked_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_whisper(monkeypatch)
    WhisperModel.made.clear()
    with pytest.raises(ModelError, match=r"no model\.bin"):
        WhisperDecoder(tmp_path, "de")
    assert WhisperModel.made == []


def test_its_words_have_its_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_whisper(monkeypatch)
    decoder = WhisperDecoder(whisper_folder(tmp_path), "de")
    assert decoder.decode(sound((1, 0.5), (2, 0.25)), (0.0, 0.75)) == [
        DecodedWord("w1", 0.0, 0.5, 0.9),
        DecodedWord("w2", 0.5, 0.75, 0.9),
    ]
    assert WhisperModel.made[-1][0] == str(tmp_path)
