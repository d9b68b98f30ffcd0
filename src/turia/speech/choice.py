"""Recognisers by name: `moonshine`, `moonshine:FOLDER`, `vosk:FOLDER`, `whisper:FOLDER`."""

from __future__ import annotations

from pathlib import Path

from turia.errors import InputError
from turia.speech.moonshine import MoonshineDecoder
from turia.speech.recogniser import Recogniser
from turia.speech.redecoding import RedecodingRecogniser
from turia.speech.voice import SileroDetector
from turia.speech.vosk import VoskRecogniser
from turia.speech.whisper import WhisperDecoder

EXTRA_OF = {"moonshine": "speech", "vosk": "vosk", "whisper": "whisper"}
"""The names, and the extra of Turia that each needs."""


def parse_choice(choice: str) -> tuple[str, Path | None]:
    """The name and the folder of NAME[:FOLDER]."""
    name, _, folder = choice.partition(":")
    if name not in EXTRA_OF:
        raise InputError(f"no recogniser {name!r}: expected moonshine, vosk:FOLDER or whisper:FOLDER")
    if not folder:
        if name != "moonshine":
            raise InputError(
                f"{name} needs a model of yours: give {name}:FOLDER (docs/speech.md says where to get one)"
            )
        return name, None
    if not Path(folder).is_dir():
        raise InputError(f"{choice}: {folder} is not a folder")
    return name, Path(folder)


def load_recogniser(choice: str, language: str) -> Recogniser:
    """The recogniser for a speaker of `language`."""
    name, folder = parse_choice(choice)
    if name == "moonshine" and language != MoonshineDecoder.language:
        raise InputError(
            f"moonshine knows English, but the speech is to be {language!r}: give a recogniser for it, such as "
            f"vosk:FOLDER (docs/speech.md), or a model that translates from English"
        )
    if name == "vosk":
        assert folder is not None
        return VoskRecogniser(folder, language)
    if name == "whisper":
        assert folder is not None
        return RedecodingRecogniser(WhisperDecoder(folder, language), SileroDetector())
    return RedecodingRecogniser(MoonshineDecoder(folder), SileroDetector())
