"""OmniSTEval itself reads our log, and finds what we find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.scorers import Scorers
from tests.formats.streams import cuts_of, example, made_up, omnisteval, report, write


@pytest.mark.parametrize("timed", [False, True])
def test_omnisteval_scores_our_log_as_we_do(scorers: Scorers, tmp_path: Path, timed: bool) -> None:
    streams = [made_up(tmp_path, seed, timed) for seed in range(2)]
    folder = write(tmp_path / "log", "omnisteval", streams)
    theirs = omnisteval(scorers, folder, "--hypothesis_file", folder / "hypothesis.jsonl")
    ours = report(streams, cuts_of(folder, streams))
    figure = ours.value("LongYAAL", "seconds") if timed else ours.value("LongYAAL", "longyaal")
    assert figure == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)
    assert ours.value("BLEU") == pytest.approx(theirs["BLEU"], abs=1e-3)
    assert ours.group("seconds").keys() == ({"AL", "DAL", "StreamLAAL", "LongYAAL"} if timed else set())


def test_on_a_plain_case_even_the_cuts_agree(scorers: Scorers, tmp_path: Path) -> None:
    folder = write(tmp_path / "log", "omnisteval", [example()])
    theirs = omnisteval(scorers, folder, "--hypothesis_file", folder / "hypothesis.jsonl")
    ours = report([example()])
    assert ours.value("LongYAAL", "longyaal") == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)
    assert ours.value("LAAL", "simuleval") == pytest.approx(theirs["LongLAAL (CU)"] / 1000, abs=1e-3)
