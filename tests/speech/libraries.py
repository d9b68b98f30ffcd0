"""Fakes of the libraries vosk and faster_whisper, with the part of their interfaces that we use.

They hear levels of loudness as words, as tests.speech.fakes does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.speech.fakes import LevelDecoder
from turia.speech.recogniser import RATE, Samples

PAUSE = RATE // 2
"""Samples of silence that end an utterance of the fake Vosk."""


class KaldiRecognizer:
    def __init__(self, model: Any, rate: int) -> None:
        assert rate == RATE
        self._done = 0
        self._sound = np.zeros(0, np.float32)
        self._words = False

    def SetWords(self, words: bool) -> None:  # noqa: N802  (Vosk's names)
        self._words = words

    def AcceptWaveform(self, data: bytes) -> bool:  # noqa: N802
        self._sound = np.concatenate([self._sound, np.frombuffer(data, "<i2").astype(np.float32) / 32767])
        quiet = len(self._sound) >= PAUSE and not self._sound[-PAUSE:].any()
        return bool(quiet and self._sound.any())

    def Result(self) -> str:  # noqa: N802
        words = self._decoded()
        self._done += len(self._sound)
        self._sound = self._sound[:0]
        if not words:
            return json.dumps({"text": ""})
        assert self._words
        # Vosk writes a message over several lines.
        return json.dumps({"result": words, "text": " ".join(word["word"] for word in words)}, indent=2)

    def PartialResult(self) -> str:  # noqa: N802
        return json.dumps({"partial": " ".join(word["word"] for word in self._decoded())}, indent=2)

    def FinalResult(self) -> str:  # noqa: N802
        return self.Result()

    def _decoded(self) -> list[dict[str, Any]]:
        began = self._done / RATE
        return [
            {"conf": 0.9, "word": word.text, "start": began + word.start, "end": began + word.end}
            for word in LevelDecoder().decode(self._sound, (0.0, 0.0))
        ]


def install_vosk(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("vosk")
    module.SetLogLevel = lambda level: None
    module.Model = lambda folder: folder
    module.KaldiRecognizer = KaldiRecognizer
    monkeypatch.setitem(sys.modules, "vosk", module)


def vosk_folder(folder: Path) -> Path:
    (folder / "am").mkdir()
    return folder


class WhisperModel:
    made: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012  (what the tests look at)

    def __init__(self, folder: str, **options: Any) -> None:
        assert options["local_files_only"], "it would look on the network"
        self.made.append((folder, options))

    def transcribe(self, sound: Samples, **options: Any) -> tuple[Iterator[Any], Any]:
        assert options["word_timestamps"]
        words = [
            # Whisper's words begin with a space.
            SimpleNamespace(word=f" {word.text}", start=word.start, end=word.end, probability=word.probability)
            for word in LevelDecoder().decode(sound, (0.0, 0.0))
        ]
        segments = [SimpleNamespace(words=words), SimpleNamespace(words=None)]
        return iter(segments), SimpleNamespace(language=options["language"])


def install_whisper(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("faster_whisper")
    module.WhisperModel = WhisperModel
    monkeypatch.setitem(sys.modules, "faster_whisper", module)


def whisper_folder(folder: Path) -> Path:
    (folder / "model.bin").write_bytes(b"")
    (folder / "tokenizer.json").write_bytes(b"{}")
    return folder
