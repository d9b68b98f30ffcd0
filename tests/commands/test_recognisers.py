"""The recognisers of `turia serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.speech.libraries import install_vosk, vosk_folder
from turia.commands import recognisers
from turia.commands.recognisers import check_recognisers, load_recognition
from turia.errors import InputError


@pytest.mark.parametrize(
    ("choices", "cause"),
    [
        (["siri"], "no recogniser 'siri'"),
        (["moonshine", "none"], "expected nothing beside it"),
        (["moonshine", "en=moonshine"], "one for each language, but these are for en, en"),
        (["vosk:."], "say which language it knows"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_loaded(choices: list[str], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        check_recognisers(choices)


def test_without_a_choice_english_is_heard_where_the_extra_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    monkeypatch.setattr(recognisers, "load_factory", lambda rest, language: loaded.append((rest, language)))
    check_recognisers(None)
    found = load_recognition(None, ["de", "en-GB"], most=3)
    assert found is not None
    assert list(found.recognisers) == ["en"]
    assert loaded == [("moonshine", "en")]
    assert found.most == 3
    assert load_recognition(None, ["de"]) is None
    assert load_recognition(["none"], ["en"]) is None
    monkeypatch.setattr(recognisers, "has", lambda extra: False)
    assert load_recognition(None, ["en"]) is None


def test_another_language_has_a_model_of_yours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_vosk(monkeypatch)
    vosk_folder(tmp_path)
    monkeypatch.setattr(recognisers, "needs", lambda extra, what: None)
    check_recognisers([f"de=vosk:{tmp_path}"])
    found = load_recognition([f"de=vosk:{tmp_path}"], ["de"])
    assert found is not None
    assert found.recognisers["de"](()).language == "de"
