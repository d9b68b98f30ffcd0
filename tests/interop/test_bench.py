"""The bench measures what it says: scripted sentences, every call counted, the same work for both procedures."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.fakes import Chaos, fake_model, subwords
from turia.cli import main
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.translator import Translator
from turia.interop.bench import Amounts, bench, growth, measure, spread, together
from turia.interop.bench_script import SENTENCE_WORDS, ScriptedBackend, speech
from turia.runtime.random_model import random_folder
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note, Record, SentenceEnd
from turia.training.naive import naive_backend

FEW = Amounts(words=30, naive_words=5, marks=(20, 60), stretch=40, streams=(1, 2), stream_words=10)


def test_speech_is_whole_sentences_of_spoken_words() -> None:
    said = speech(subwords(), 500)
    assert sum(said.lengths) == len(said.words) >= 500
    assert all(SENTENCE_WORDS[0] <= length <= SENTENCE_WORDS[1] for length in said.lengths)
    assert all(word.isalpha() for word in said.words)
    assert said == speech(subwords(), 500)
    assert said != speech(subwords(), 500, seed=2)


def test_three_words_in_ten_have_two_pieces_on_either_side() -> None:
    said = speech(subwords(), 3000)
    counts = [len(subwords().encode_word(word)) for word in said.words]
    assert set(counts) == {1, 2}
    assert counts.count(2) / len(counts) == pytest.approx(0.3, abs=0.03)
    _, backend, _ = translate(Settings(k=3), 1.0, words=300)
    written = sum(call.rows for call in backend.calls if call.kind == "decoder step")
    assert written / 300 == pytest.approx(1.3, abs=0.1)


def translate(settings: Settings, gamma: float, words: int = 140) -> tuple[list[Record], ScriptedBackend, list[int]]:
    model = replace(fake_model(Chaos()), gamma=gamma)
    said = speech(subwords(), words)
    backend = ScriptedBackend(model)
    stream = Stream(replace(model, backend=backend), GivenSegmenter(said.lengths), replace(settings, gamma=gamma))
    return [record for word in said.words for record in stream.push(word)], backend, said.lengths


@pytest.mark.parametrize("gamma", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("anew", [False, True])
def test_sentences_are_as_long_as_the_script_says(gamma: float, anew: bool) -> None:
    """Chaos would end anywhere; the script makes every sentence gamma times as long as its source, and cuts none."""
    settings = Settings(k=3, encoding="full" if anew else "incremental", recompute=anew)
    records, _, lengths = translate(settings, gamma)
    ends = [record for record in records if isinstance(record, SentenceEnd)]
    assert [end.source_words for end in ends] == lengths
    assert [end.target_words for end in ends] == [int(np.ceil(np.float64(gamma) * length)) for length in lengths]
    assert not [record for record in records if isinstance(record, Note)]


def test_calls_are_told_apart() -> None:
    _, backend, lengths = translate(Settings(k=3), 1.0)
    kinds = [call.kind for call in backend.calls]
    assert kinds.count("window") == kinds.count("prefill") == len(lengths)
    # A window of k words begins a sentence; a step for each word after them, the last with its closing symbol.
    assert kinds.count("encoder step") == sum(lengths) - 3 * len(lengths)
    assert all(call.requests == 1 and call.seconds >= 0 for call in backend.calls)
    _, anew, _ = translate(Settings(k=3, encoding="full", recompute=True), 1.0)
    assert {call.kind for call in anew.calls} == {"window", "prefill"}


def test_history_is_in_the_windows() -> None:
    _, backend, _ = translate(Settings(k=3, history=60), 1.0)
    _, without, _ = translate(Settings(k=3, history=0), 1.0)
    rows = [[call.rows for call in one.calls if call.kind == "window"] for one in (backend, without)]
    assert min(rows[0][4:]) > 30 > max(rows[1])


def test_spread() -> None:
    found = spread([0.001 * number for number in range(1, 101)])
    assert [found.p5, found.median, found.p95, found.mean] == pytest.approx([5.95, 50.5, 95.05, 50.5])
    assert found.count == 100


def test_measuring_counts_every_word(model_folder: Path) -> None:
    model = Translator.load(model_folder).model
    timing = measure(model, Settings(k=3), 30)
    assert timing.read.count == timing.word.count == 30
    assert 20 <= timing.write.count <= 45
    assert timing.word.mean >= timing.read.mean > 0
    assert timing.rows["window"] > 40
    assert timing.rows["decoder step"] == 1
    grown = growth(model, Settings(k=3), (20, 60), 40)
    assert [mark.after for mark in grown] == [20, 60]
    assert all(mark.ms > 0 and mark.ratio > 0 and mark.megabytes > 10 for mark in grown)
    assert together(model, Settings(k=3), 2, 10) > 0


def test_both_procedures_are_reported(model_folder: Path) -> None:
    translator = Translator.load(model_folder)
    shown: list[float] = []
    report = bench(
        "tiny",
        lambda: translator.model,
        ("tiny too", lambda: translator.model),
        lambda: naive_backend(translator.config.shape),
        FEW,
        lambda share, detail: shown.append(share),
    )
    assert shown == sorted(shown)
    data = json.loads(json.dumps(report.as_json()))
    assert set(data["timing"]["calls"]) == {"window", "encoder step", "prefill", "decoder step"}
    assert set(data["naive"]["calls"]) == {"window", "prefill"}
    assert data["ratio"] == pytest.approx(data["naive"]["word"]["mean"] / data["timing"]["word"]["mean"])
    assert data["flatness"] == max(mark["ratio"] for mark in data["growth"])
    assert list(data["streams"]) == ["1", "2"]
    assert data["settings"] == {"k": 4, "gamma": 1.0, "history": 60, "beam": 1, "threads": 1}
    assert data["quick"] is False
    assert data["amounts"] == json.loads(json.dumps(asdict(FEW)))
    assert [table.row_count for table in report.tables()] == [7, 5, 2, 2, 3]
    assert replace(report, naive=None).ratio is None


def test_random_folders_are_models_and_go_away() -> None:
    with random_folder("tiny", "float32") as folder:
        assert Translator.load(folder).config.precision == "float32"
    assert not folder.exists()


def test_the_command(model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.interop.bench.QUICK", FEW)
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
