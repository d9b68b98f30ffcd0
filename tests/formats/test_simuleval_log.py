"""SimulEval's log: SimulEval itself reads ours and finds what we find; what is no such log is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.scorers import Scorers
from tests.formats.streams import EVERYTHING, made_up, write
from turia.errors import FormatError
from turia.evaluation.report import evaluate
from turia.formats.simuleval_log import read_instances


@pytest.mark.slow
def test_simuleval_scores_our_log_as_we_do(scorers: Scorers, tmp_path: Path) -> None:
    folder = write(tmp_path / "log", "simuleval", [made_up(tmp_path, seed, timed=False) for seed in range(3)])
    printed = scorers.run(
        "simuleval", "--score-only", "--output", folder, "--latency-metrics", "AL", "LAAL", "AP", "DAL"
    )
    header, values = (line.split() for line in printed.splitlines()[-2:])
    theirs = dict(zip(header, map(float, values[1:]), strict=True))
    ours = evaluate(read_instances(folder / "instances.log"), EVERYTHING)
    for name, value in ours.group("simuleval").items():
        assert value == pytest.approx(theirs[name], abs=1e-3)
    assert ours.value("BLEU") == pytest.approx(theirs["BLEU"], abs=1e-3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "log:1: not JSON"),
        ("[]", "log:1: expected a JSON object"),
        ('{"prediction": "a"}', "log:1: reference is None, expected text"),
        ('{"prediction":"a","reference":"b","source_length":0,"delays":[1]}', "log:1: source_length is 0"),
        # The delay over this length would be no number.
        ('{"prediction":"a","reference":"b","source_length":1e-300,"delays":[1e15]}', "log:1: source_length is 1e-300"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":"x"}', "log:1: delays is not a list"),
        ('{"prediction":"a b","reference":"b","source_length":2,"delays":[1]}', "log:1: 2 words, but 1 delay"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[NaN]}', "log:1: not JSON: NaN is not a JSON"),
        (
            '{"prediction":"a","reference":"b","source_length":Infinity,"delays":[1]}',
            "log:1: not JSON: Infinity is not",
        ),
        ('{"prediction":"a","reference":"b","source_length":1e999,"delays":[1]}', "log:1: source_length is inf"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[1e999]}', "log:1: delays is not a list"),
        (f'{{"prediction":"a","reference":"b","source_length":2,"delays":[{10**400}]}}', "log:1: delays is not a list"),
        (
            f'{{"prediction":"a","reference":"b","source_length":{10**400},"delays":[1]}}',
            "log:1: source_length is 1000",
        ),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[' + "1" * 5000 + "]}", "log:1: not JSON: Exc"),
        ("[" * 100_000, "log:1: not JSON: maximum recursion depth exceeded"),
        ('{"prediction":"a b","reference":"b","source_length":2,"delays":[2,1]}', "log:1: delays go back"),
        (
            '{"prediction":"a","reference":"b","source_length":2,"delays":[-1]}',
            "log:1: delays go back, or begin below 0",
        ),
    ],
)
def test_an_instances_log_that_is_none(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "log").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_instances(tmp_path / "log")
    assert message in str(caught.value)
