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
