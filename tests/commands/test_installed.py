"""`turia bench` as a user's shell sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.cli import main
from turia.experiments.bench import Amounts

FEW = Amounts(words=30, naive_words=5, marks=(20, 60), stretch=40, streams=(1, 2), stream_words=10)


@pytest.mark.slow
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


def test_without_ctranslate2_the_bench_says_so(
    model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.experiments.bench.QUICK", FEW)
    monkeypatch.setattr("turia.commands.installed.find_spec", lambda name: None)
    told = "the comparison with CTranslate2 needs the package ctranslate2, which is no part of Turia: "
    assert main(["bench", str(model_folder), "--quick", "--no-naive", "--own-growth"]) == 0
    assert f"{told}pip install ctranslate2" in capsys.readouterr().out.splitlines()
    assert main(["bench", str(model_folder), "--contest"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {told}pip install ctranslate2"


@pytest.mark.parametrize("option", [["--preset", "small"], ["--precision", "int8"]])
def test_what_is_for_random_weights_is_refused_beside_a_model(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "de-en", *option]) == 2
    assert capsys.readouterr().err == f"error: de-en is measured as it is; {option[0]} is for random weights\n"
