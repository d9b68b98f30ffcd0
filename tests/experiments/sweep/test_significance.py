"""Which rows of a sweep are tested against which others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from turia.evaluation.figures import Figure
from turia.evaluation.report import Report
from turia.experiments.sweep import significance
from turia.experiments.sweep.configurations import Configuration
from turia.experiments.sweep.rows import Row, columns
from turia.policy.base import Policy
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK

REFERENCES = {"set": ["a b c d e f g h", "h g f e d c b a"] * 20}


def row(policy: Policy, al: float, right: int, window: int | None = None, target_lag: str | None = None) -> Row:
    """Of each sentence, so many first words are right."""
    lines = [" ".join([*line.split()[:right], *["?"] * (8 - right)]) for line in REFERENCES["set"]]
    figures = (
        Figure("BLEU", 10.0 * right, "sacrebleu"),
        Figure("chrF", 50.0, ""),
        Figure("AP", 0.5, ""),
        Figure("AL", al, "authors"),
        Figure("DAL", al, "authors"),
    )
    report = Report(figures, 1, 40, 0, "", tuple(lines))
    k = policy.k if isinstance(policy, WaitK) else None
    details = Configuration(window, policy, 0, target_lag=target_lag).as_json()
    point = str(policy).partition(":")[2]
    return Row("set", "model", policy.name, "oracle", k, report, 8, 8, point=point, details=details)


def on_curve(curve: str, policy: Policy, right: int) -> Row:
    return replace(row(policy, 4.0, right), curve=curve)


@pytest.mark.parametrize("several", [True, False])
def test_points_of_other_policies_are_tested_at_the_same_parameters(several: bool) -> None:
    """A curve of hold-n has no k; n=1 is not compared with n=2, nor one policy with another."""
    name = "hold-n, h = {}" if several else "h = {}"
    rows = [
        on_curve(name.format(0), HoldN(1), 4),
        on_curve(name.format(0), HoldN(2), 8),
        on_curve(name.format(20), HoldN(1), 4),
        on_curve(name.format(20), HoldN(2), 4),
    ]
    if several:
        rows += [on_curve("wait-k, h = 0", WaitK(2), 4), on_curve("wait-k, h = 20", WaitK(2), 8)]
    tested = [one.p_value for one in significance.tested_at_equal_k(rows, "h = 0", REFERENCES, 50)]
    assert tested[:2] == [None, None]
    assert tested[2:4] == [pytest.approx(1.0), pytest.approx(1 / 51)]
    if several:
        assert tested[4:] == [None, pytest.approx(1 / 51)]
        alone = significance.tested_at_equal_k(rows, "wait-k, h = 0", REFERENCES, 50)
        assert [one.p_value is not None for one in alone] == [False] * 5 + [True]


def test_other_policies_are_tested_between_the_points_of_the_baseline_beside_them() -> None:
    rows = [
        row(WaitK(2), 2.0, 4),
        row(WaitK(6), 6.0, 6),
        row(HoldN(1), 4.0, 8),
        row(HoldN(0), 1.0, 8),
        row(HoldN(9), 9.0, 8),
        row(HoldN(2), 4.0, 8, window=2),
        row(WaitK(3), 4.0, 5, target_lag="4"),
    ]
    tested = significance.tested_at_equal_latency(rows, "wait-k", REFERENCES, 50)
    assert [one.p_value is not None for one in tested] == [False, False, True, False, False, False, True]
    assert tested[2].difference is not None
    assert tested[2].difference > 20
    assert tested[2].p_value == pytest.approx(1 / 51)
    assert tested[2].cells()[2].startswith("80.0 (+")
    assert "BLEU_difference" in tested[2].as_json()


def test_what_was_not_measured_has_no_column() -> None:
    waiting, holding = row(WaitK(2), 2.0, 4), row(HoldN(1), 4.0, 8)
    assert "calls/word" not in columns([waiting])[0]
    assert "calls/word" in columns([waiting, holding])[0]
    waiting.details.update({"calls_per_word": 2.4, "words_per_second": 301.2})
    heads, (cells,) = columns([waiting])
    assert dict(zip(heads, cells, strict=True))["calls/word"] == "2.4"
    assert dict(zip(heads, cells, strict=True))["words/s"] == "301"
    assert "LongYAAL" not in heads
