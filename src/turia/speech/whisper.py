"""Whisper by faster-whisper: many languages, with a model folder of the user's in CTranslate2's format.

It knows only whole recordings, so its utterances are decoded again as they grow (turia.speech.redecoding).
"""

from __future__ import annotations

from pathlib import Path

from turia.errors import ModelError
from turia.speech.agreement import DecodedWord
from turia.speech.recogniser import Samples


class WhisperDecoder:
    """A Whisper model in a folder."""

    def __init__(self, folder: Path, language: str, threads: int = 1) -> None:
        from faster_whisper import WhisperModel

        # What is missing would be looked for on the network.
        for name in ("model.bin", "tokenizer.json"):
            if not (folder / name).is_file():
                raise ModelError(f"{folder}: no {name}, which a Whisper model for faster-whisper has")
        self.language = language
        try:
            self._model = WhisperModel(
                str(folder), device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{folder}: faster-whisper cannot read this model: {error}") from error

    def decode(self, sound: Samples, speech: tuple[float, float]) -> list[DecodedWord]:
        segments, _ = self._model.transcribe(
            sound,
            language=self.language,
            beam_size=1,
            word_timestamps=True,
            # An utterance stands for itself: what was said before leads to repetitions.
            condition_on_previous_text=False,
        )
        return [
            DecodedWord(word.word.strip(), float(word.start), float(word.end), float(word.probability))
            for segment in segments
            for word in segment.words or ()
            if word.word.strip()
        ]
