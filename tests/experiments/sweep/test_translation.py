"""Runs that are spread over processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.sweep.toys import run, traces

pytestmark = pytest.mark.slow


def test_processes_change_nothing_in_the_traces(toml: Path) -> None:
    toml.write_text('streams = "documents"\n' + toml.read_text("utf-8"), encoding="utf-8")
    alone = run(toml)
    assert {row.report.streams for row in alone.rows} == {2}
    expected = traces(alone.folder)
    assert run(toml, processes=2, fresh=True).rows == alone.rows
    assert traces(alone.folder) == expected


def test_the_segmenter_has_the_threshold_that_the_recipe_names(toml: Path) -> None:
    text = toml.read_text("utf-8").replace("k = [1, 3]", "k = [1]\noracle = false\noffline = false")
    toml.write_text(text.replace("windows = [0, 2]", "windows = [2]\nthresholds = [0.0, 1.0]"), encoding="utf-8")
    found = traces(run(toml).folder)
    ends = {path.split("/")[2]: trace.count(b'"reason":"segmenter"') for path, trace in found.items()}
    # The last word of the stream ends a sentence by itself.
    assert ends == {"w2p0-k1-h60": 29, "w2p1-k1-h60": 0}
