"""`turia models` as a user's shell sees it. What `add` and `remove` do is in tests/hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.cli import main
from turia.commands import extras


def test_models_are_listed_in_json_and_for_people(described_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", str(described_model), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["scores"] == ["BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)"]
    assert main(["models", str(described_model)]) == 0
    printed = capsys.readouterr().out
    assert "de → en" in printed
    assert 'tiny data: Europarl v10, Tatoeba: 2024, the "best" ä, somebody\'s\n' in printed
    assert "tiny score: BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)\n" in printed
    assert main(["models", str(described_model / "nowhere")]) == 2


def test_an_altered_model_is_not_listed_as_if_it_were_whole(
    described_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (described_model / "weights.bin").open("ab") as weights:
        weights.write(b"more")
    assert main(["models", str(described_model)]) == 2
    assert "altered" in capsys.readouterr().err


def test_models_alone_lists_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    assert [model["name"] for model in json.loads(capsys.readouterr().out)] == ["de-en", "en-de"]
    assert main(["models", "list", "de-en", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert main(["models", "--help"]) == 0
    assert "remove" in capsys.readouterr().out
    assert main(["models", "remove", "nothing"]) == 2
    assert capsys.readouterr().err == "error: no model 'nothing' was added; added models: none\n"


def test_adding_needs_the_hub_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda package: None)
    assert main(["models", "add", "Helsinki-NLP/opus-mt-de-en"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: `turia models add` needs the hub extra of Turia; install it: ")
    assert "[hub]'" in said
