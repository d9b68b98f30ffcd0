"""Recognisers by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.speech.fakes import sound
from tests.speech.libraries import install_vosk, install_whisper, vosk_folder, whisper_folder
from turia.errors import InputError
from turia.speech.choice import load_factory, load_recogniser, parse_choice, parse_language_choice
from turia.speech.vosk import VoskRecogniser


def test_a_choice_has_a_name_and_a_folder(tmp_path: Path) -> None:
    assert parse_choice("moonshine") == ("moonshine", None)
    assert parse_choice(f"vosk:{tmp_path}") == ("vosk", tmp_path)


@pytest.mark.parametrize(
    ("choice", "cause"),
    [
        ("siri", "no recogniser 'siri': expected moonshine, vosk:FOLDER or whisper:FOLDER"),
        ("vosk", "vosk needs a model of yours: give vosk:FOLDER"),
        ("whisper:small", "small is not a folder"),
    ],
)
def test_what_is_none_is_refused(choice: str, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        parse_choice(choice)


def test_german_is_not_given_to_an_english_recogniser() -> None:
    with pytest.raises(InputError, match="moonshine knows English, but the speech is to be 'de'"):
        load_recogniser("moonshine", "de")


def test_the_others_take_the_language_of_the_speech(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)
    install_whisper(monkeypatch)
    vosk_folder(tmp_path)
    whisper_folder(tmp_path)
    vosk = load_recogniser(f"vosk:{tmp_path}", "de")
    assert isinstance(vosk, VoskRecogniser)
    assert vosk.language == "de"
    assert load_recogniser(f"whisper:{tmp_path}", "fr").language == "fr"


def test_a_server_s_choice_says_the_language(tmp_path: Path) -> None:
    assert parse_language_choice("moonshine") == ("en", "moonshine")
    assert parse_language_choice(f"de=vosk:{tmp_path}") == ("de", f"vosk:{tmp_path}")
    with pytest.raises(InputError, match=r"say which language it knows, as in de=vosk:"):
        parse_language_choice(f"vosk:{tmp_path}")


def test_speakers_share_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)
    vosk_folder(tmp_path)
    make = load_factory(f"vosk:{tmp_path}", "de")
    one, other = make(()), make(())
    assert one is not other
    one.push(sound((1, 0.5), (0, 1.0), (2, 0.3)))
    # Nothing of an utterance that goes on is final: it is heard again from its beginning.
    assert one.restart.words == 0
    assert 1.0 <= one.restart.at <= 1.5
    assert other.restart.at == 0.0
