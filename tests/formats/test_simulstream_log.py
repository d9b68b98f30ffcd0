"""SimulStream's own reader reads our log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.scorers import Scorers
from tests.formats.streams import cuts_of, made_up, omnisteval, report, write


@pytest.mark.parametrize("timed", [False, True])
def test_simulstream_reads_our_log(scorers: Scorers, tmp_path: Path, timed: bool) -> None:
    """By its own reader, which OmniSTEval calls."""
    streams = [made_up(tmp_path, 7, timed)]
    folder = write(tmp_path / "log", "simulstream", streams)
    theirs = omnisteval(
        scorers, folder, "--hypothesis_file", folder / "simulstream.jsonl", "--hypothesis_format", "simulstream",
        "--simulstream_config_file", folder / "config.yaml",
    )  # fmt: skip
    ours = report(streams, cuts_of(folder, streams))
    figure = ours.value("LongYAAL", "seconds") if timed else ours.value("LongYAAL", "longyaal")
    assert figure == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)
