"""The bench measures what it says: scripted sentences, every call counted, the same work for both procedures."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from turia.engine.settings import Settings
from turia.experiments.bench import Amounts, bench, growth, measure, spread, together
from turia.model.naive import naive_backend
from turia.runtime.kernels import named
from turia.runtime.translator import Translator

FEW = Amounts(words=30, naive_words=5, marks=(20, 60), stretch=40, streams=(1, 2), stream_words=10)


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


@pytest.mark.slow
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
    expected = {"k": 4, "gamma": 1.0, "history": 60, "beam": 1, "threads": 1}
    assert data["settings"] == {**expected, "kernels": named(translator.model.backend)}
    assert data["quick"] is False
    assert data["amounts"] == json.loads(json.dumps(asdict(FEW)))
    assert [table.row_count for table in report.tables()] == [7, 5, 2, 2, 3]
    assert replace(report, naive=None).ratio is None
