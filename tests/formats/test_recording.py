"""Streams as recordings: with the times of their words, or a word a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.streams import made_up, write
from turia.errors import InputError
from turia.evaluation.inputs import load_streams
from turia.evaluation.latency import mean, stream_yaal


def test_seconds_are_the_same_functions_of_other_numbers(tmp_path: Path) -> None:
    source, reference, trace = made_up(tmp_path, 3, timed=True)
    (log,) = load_streams([source], [reference], [trace])
    assert log.spoken is not None
    assert sum(log.spoken.source_lengths) == max(log.spoken.delays)
    scores = stream_yaal([2.0, 3.5], [4.0], [2], [2])
    assert mean(scores) == pytest.approx((2.0 + 3.5 - 2.0) / 2)


def test_traces_with_and_without_times_are_not_mixed(tmp_path: Path) -> None:
    streams = [made_up(tmp_path, 1, timed=True), made_up(tmp_path, 2, timed=False)]
    with pytest.raises(InputError, match="some traces have the times"):
        write(tmp_path / "log", "omnisteval", streams)


def test_a_stream_that_was_broken_off_gives_no_log(tmp_path: Path) -> None:
    source, reference, trace = made_up(tmp_path, 1, timed=False)
    lines = trace.read_text(encoding="utf-8").splitlines(keepends=True)
    trace.write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(InputError, match="the trace is not whole"):
        write(tmp_path / "log", "simuleval", [(source, reference, trace)])
    assert not (tmp_path / "log").exists()
