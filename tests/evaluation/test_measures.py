"""The table of measures: what is computed when, and in which unit. The figures themselves are in test_latency.py."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from turia.evaluation.figures import CutStreams, Measure
from turia.evaluation.inputs import StreamLog
from turia.evaluation.measures import MEASURES, authors_latency, longyaal, simuleval_latency, streamlaal
from turia.evaluation.options import Convention, EvaluationOptions
from turia.evaluation.report import evaluate

STREAM = StreamLog([3, 2], ["One two three.", "Four five."], ["One", "two", "Four"], [1, 3, 4])
SEGMENTS = [[["One", "two"], ["Four"]]]


def cut(*conventions: Convention, stream: StreamLog = STREAM) -> CutStreams:
    return CutStreams([stream], SEGMENTS, EvaluationOptions(latency=conventions))


@pytest.mark.parametrize(
    ("measure", "convention"),
    [
        (simuleval_latency, Convention.SIMULEVAL),
        (streamlaal, Convention.STREAMLAAL),
        (longyaal, Convention.LONGYAAL),
    ],
)
def test_a_convention_is_measured_when_it_is_asked_for(measure: Measure, convention: Convention) -> None:
    assert measure(cut()) == []
    for asked in (convention, Convention.ALL):
        figures = measure(cut(asked))
        assert figures != []
        assert {(figure.group, figure.convention) for figure in figures} == {(convention, convention)}


def test_names_are_unique_within_a_group() -> None:
    figures = [figure for measure in MEASURES for figure in measure(cut(Convention.ALL))]
    assert len({(figure.name, figure.group) for figure in figures}) == len(figures)
    # These are keys of `--json` beside the figures.
    assert not {figure.name for figure in figures} & {"sentences", "streams", "empty", "signature"}


def test_simulevals_logs_do_not_say_their_unit() -> None:
    assert [figure.unit for figure in authors_latency(cut())] == ["", "source words", "source words"]
    logged = replace(STREAM, simuleval_words=[3, 2])
    assert {figure.unit for figure in authors_latency(cut(stream=logged))} == {""}


def test_simulevals_own_count_of_words_is_used_for_its_own_figures() -> None:
    logged = replace(STREAM, simuleval_words=[6, 4])
    plain, longer = (simuleval_latency(cut(Convention.SIMULEVAL, stream=one))[0].value for one in (STREAM, logged))
    assert longer == pytest.approx(plain / 2)


def test_the_measure_of_the_page_is_reported_once_it_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs/extend.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(program, names)
    monkeypatch.setattr("turia.evaluation.measures.MEASURES", [*MEASURES, names["length_ratio"]])
    report = evaluate([replace(STREAM, segments=SEGMENTS[0])], EvaluationOptions())
    assert report.as_json()["length ratio"] == 3 / 5
    without = evaluate([StreamLog([2], [""], ["a", "b"], [1, 2])], EvaluationOptions())
    assert without.as_json()["length ratio"] is None
