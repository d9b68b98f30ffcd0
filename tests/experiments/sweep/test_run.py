"""A whole sweep: its figures are those of its traces, and what is done is not done again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.experiments.sweep.toys import moments, run, traces
from turia.evaluation.inputs import load_streams
from turia.evaluation.options import EvaluationOptions
from turia.evaluation.report import evaluate
from turia.stream.trace import parse_trace

pytestmark = pytest.mark.slow


def test_a_sweep_scores_its_traces(toml: Path) -> None:
    results = run(toml)
    data = json.loads((results.folder / "results.json").read_text("utf-8"))
    assert [(row["curve"], row["k"]) for row in data["results"]] == [
        ("w = 0", 1), ("w = 0", 3), ("w = 2", 1), ("w = 2", 3), ("oracle segments", 1), ("oracle segments", 3),
        ("whole sentences", None),
    ]  # fmt: skip
    test = results.folder / "toy-set"
    for row in data["results"]:
        trace = results.folder / row["trace"] / "000.jsonl"
        report = evaluate(load_streams([test / "000.source"], [test / "000.reference"], [trace]), EvaluationOptions())
        assert {key: row[key] for key in report.as_json()} == report.as_json()
        # The command in the file gives the same, run where the file is.
        assert row["command"].split()[2:7:2] == ["--source", "--reference", "--trace"]
    files = data["models"][0]["sha256"][:12]
    assert {
        parse_trace(lines.decode().splitlines()).settings["files"] for lines in traces(results.folder).values()
    } == {files}
    page = (results.folder / "results.md").read_text("utf-8")
    assert page.count(f"|model:de-en|files:{files}|") == 1
    offline = parse_trace((test / "tiny/oracle-offline-h60/000.jsonl").read_text("utf-8").splitlines())
    assert set(offline.delays()) <= {6, 12, 18, 24, 30}
    assert data["models"][0]["name"] == "tiny"
    assert data["recipe"]["k"] == [1, 3]
    assert data["tests"][0]["source_words"] == 30
    assert "toy set, h = 60" in (results.folder / "toy-set-k.svg").read_text("utf-8")
    for name in ("toy-set-latency.png", "toy-set-latency.svg", "toy-set-k.png", "results.md"):
        assert (results.folder / name).stat().st_size > 100


def test_what_is_done_is_not_done_again(toml: Path) -> None:
    first = run(toml)
    before, said = moments(first.folder), traces(first.folder)
    assert len(before) == 7
    lost = first.folder / "toy-set/tiny/w2-k1-h60"
    (lost / "configuration.json").unlink()  # as if it had been interrupted
    again = run(toml)
    after = moments(again.folder)
    assert [name for name in before if before[name] != after[name]] == ["toy-set/tiny/w2-k1-h60/000.jsonl"]
    assert traces(again.folder) == said
    assert again.rows == first.rows
    run(toml, fresh=True)
    assert not set(moments(first.folder).items()) & set(after.items())
    assert traces(again.folder) == said


def test_other_streams_are_translated_anew(toml: Path) -> None:
    before = moments(run(toml).folder)
    toml.write_text("sentences = 3\n" + toml.read_text("utf-8"), encoding="utf-8")
    results = run(toml)
    assert not set(moments(results.folder).items()) & set(before.items())
    assert {row.report.sentences for row in results.rows} == {3}
