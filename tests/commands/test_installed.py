"""`turia bench` and `turia models` as a user's shell sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.cli import main
from turia.experiments.bench import Amounts

FEW = Amounts(words=30, naive_words=5, marks=(20, 60), stretch=40, streams=(1, 2), stream_words=10)


def test_a_bench_in_json(
    model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.experiments.bench.QUICK", FEW)
    assert main(["bench", str(model_folder), "--quick", "--no-naive", "--own-growth", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["model"] == data["growth_model"] == "tiny"
    assert data["naive"] is None
    assert data["quick"] is True
    assert main(["bench", "no such model"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: no model 'no such model'")


@pytest.mark.parametrize("option", [["--preset", "small"], ["--precision", "int8"]])
def test_what_is_for_random_weights_is_refused_beside_a_model(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "de-en", *option]) == 2
    assert capsys.readouterr().err == f"error: de-en is measured as it is; {option[0]} is for random weights\n"


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
