"""Recognisers by name: `moonshine`, `moonshine:FOLDER`, `vosk:FOLDER`, `whisper:FOLDER`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from turia.errors import InputError
from turia.speech.moonshine import MoonshineDecoder
from turia.speech.recogniser import Recogniser
from turia.speech.redecoding import Decoder, RedecodingRecogniser
from turia.speech.voice import SileroDetector
from turia.speech.vosk import VoskModel, VoskRecogniser
from turia.speech.whisper import WhisperDecoder

EXTRA_OF = {"moonshine": "speech", "vosk": "vosk", "whisper": "whisper"}
"""The names, and the extra of Turia that each needs."""
RecogniserFactory = Callable[[Sequence[str]], Recogniser]
"""Makes the recogniser of one more speaker. The words begin the sound and are final already."""


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


def parse_language_choice(choice: str) -> tuple[str, str]:
    """The language and the rest of [LANGUAGE=]NAME[:FOLDER]. Moonshine's language is known."""
    found = re.fullmatch(r"(?:([A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*)=)?(.*)", choice)
    assert found is not None
    language, rest = found[1], found[2]
    name, _ = parse_choice(rest)
    if language is None:
        if name != "moonshine":
            raise InputError(f"--recogniser {choice}: say which language it knows, as in de={choice}")
        language = MoonshineDecoder.language
    return language, rest


def load_recogniser(choice: str, language: str) -> Recogniser:
    """The recogniser for a speaker of `language`."""
    return load_factory(choice, language)(())


def load_factory(choice: str, language: str) -> RecogniserFactory:
    """Loads a model that several speakers of `language` share."""
    name, folder = parse_choice(choice)
    if name == "moonshine" and language != MoonshineDecoder.language:
        raise InputError(
            f"moonshine knows English, but the speech is to be {language!r}: give a recogniser for it, such as "
            f"vosk:FOLDER (docs/speech.md), or a model that translates from English"
        )
    if name == "vosk":
        assert folder is not None
        model = VoskModel(folder)
        # Its restarts are where no word is final.
        return lambda settled: VoskRecogniser(model, language)
    if name == "whisper":
        assert folder is not None
        return _redecoding(WhisperDecoder(folder, language))
    return _redecoding(MoonshineDecoder(folder))


def _redecoding(decoder: Decoder) -> RecogniserFactory:
    return lambda settled: RedecodingRecogniser(decoder, SileroDetector(), settled)
