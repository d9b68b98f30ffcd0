"""Vosk: recognisers for many languages, with a model folder of the user's. It has voice detection and times of its own.

A word is final when its utterance is over, so captions come later than with the other recognisers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from turia.errors import ModelError
from turia.speech.certainty import Certainty
from turia.speech.recogniser import RATE, Recognised, Restart, Samples
from turia.stream.times import SpokenWord

BLOCK = RATE // 10
"""Samples that Vosk gets at once. Where an utterance ends depends on it, so it is always the same."""


class VoskModel:
    """A model in a folder, which several speakers may share."""

    def __init__(self, folder: Path) -> None:
        import vosk

        if not (folder / "am").is_dir() and not (folder / "final.mdl").is_file():
            raise ModelError(f"{folder}: not a Vosk model, which has a folder am or a file final.mdl")
        vosk.SetLogLevel(-1)
        try:
            self.model: Any = vosk.Model(str(folder))
        # Vosk raises nothing more special.
        except Exception as error:
            raise ModelError(f"{folder}: Vosk cannot read this model; is it unpacked, with all its files?") from error


class VoskRecogniser:
    """One speaker's Vosk."""

    speech_seconds = None

    def __init__(self, model: VoskModel | Path, language: str | None = None) -> None:
        """`language` is that of the model; a folder does not say it."""
        import vosk

        self.language = language
        # It decodes as it hears: there is nothing to leave out.
        self.hurried = False
        shared = model if isinstance(model, VoskModel) else VoskModel(model)
        self._kaldi: Any = vosk.KaldiRecognizer(shared.model, RATE)
        self._kaldi.SetWords(True)
        self._blocks = 0
        self._restart = Restart()
        self._rest = np.zeros(0, np.float32)
        self._partial: tuple[SpokenWord, ...] = ()
        self._certainty = Certainty()

    @property
    def certainty(self) -> float | None:
        return self._certainty.share

    @property
    def restart(self) -> Restart:
        """The end of the last utterance: within one, nothing is final."""
        return self._restart

    def push(self, samples: Samples) -> Recognised:
        sound = np.concatenate([self._rest, samples])
        whole = len(sound) // BLOCK * BLOCK
        self._rest = sound[whole:].copy()
        final: list[SpokenWord] = []
        for begin in range(0, whole, BLOCK):
            final += self._take(sound[begin : begin + BLOCK])
        return Recognised(tuple(final), self._partial)

    def flush(self) -> Recognised:
        final = self._take(self._rest) if len(self._rest) else []
        self._partial = ()
        return Recognised((*final, *self._result(self._kaldi.FinalResult())))

    def _take(self, block: Samples) -> list[SpokenWord]:
        self._blocks += 1
        if self._kaldi.AcceptWaveform(as_pcm(block)):
            self._partial = ()
            self._restart = Restart(self._blocks * BLOCK / RATE)
            return self._result(self._kaldi.Result())
        guess = json.loads(self._kaldi.PartialResult()).get("partial", "")
        self._partial = tuple(map(SpokenWord, guess.split()))
        return []

    def _result(self, text: str) -> list[SpokenWord]:
        words = json.loads(text).get("result", [])
        self._certainty.add((word["word"], word.get("conf", 1.0)) for word in words)
        return [SpokenWord(word["word"], word["start"], word["end"]) for word in words]


def as_pcm(samples: Samples) -> bytes:
    """16-bit samples, little-endian."""
    return (np.clip(samples, -1, 1) * 32767).round().astype("<i2").tobytes()
