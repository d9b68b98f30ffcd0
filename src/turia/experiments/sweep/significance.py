"""Tests of a sweep's rows against a baseline: curves at the same k, policies at the same latency (AL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import isnan
from typing import Any

from turia.evaluation.bootstrap import Counts, difference_at_equal_latency, sentence_counts
from turia.evaluation.quality import paired_p_values
from turia.experiments.sweep.curves import without_policy
from turia.experiments.sweep.rows import Row

References = Mapping[str, Sequence[str]]
"""Of each test set."""
_SAME = ("window", "threshold", "block", "free", "history", "encoding", "recompute", "beam", "gamma")
"""Settings in which a row and its baseline agree."""


def tested_at_equal_k(rows: Sequence[Row], baseline: str, references: References, resamples: int) -> list[Row]:
    """The rows, those of our other curves with their p-value against the curve `baseline` at the same k, or with the
    same parameters of another policy. `baseline` may leave the policy out: then each policy has its own."""
    done = list(rows)
    for place, base in enumerate(rows):
        if baseline not in (base.curve, without_policy(base.curve, _policy(base))) or base.offline:
            continue
        others = [
            number
            for number, row in enumerate(rows)
            if _at_same_point(row, base) and row.ours and not row.offline and number != place
        ]
        hypotheses = [rows[number].report.hypotheses for number in others]
        values = paired_p_values(base.report.hypotheses, hypotheses, references[base.test], resamples)
        for number, value in zip(others, values, strict=True):
            done[number] = replace(rows[number], p_value=value)
    return done


def _at_same_point(row: Row, base: Row) -> bool:
    if (row.test, row.k) != (base.test, base.k):
        return False
    return row.k is not None or (_policy(row), row.point) == (_policy(base), base.point)


def tested_at_equal_latency(rows: Sequence[Row], baseline: str, references: References, resamples: int) -> list[Row]:
    """The rows, those of other policies than `baseline` with their difference from it at their own AL, and its p-value.

    A row that is sooner or later than all points of the baseline is not tested.
    """

    @cache
    def counts(place: int) -> Counts:
        return sentence_counts(rows[place].report.hypotheses, references[rows[place].test])

    def tested(place: int, row: Row) -> Row:
        if not row.ours or row.offline or (_policy(row) == baseline and "target_lag" not in row.details):
            return row
        beside = _beside(row, [(n, one) for n, one in enumerate(rows) if _is_base(one, row, baseline)])
        if beside is None:
            return row
        low, high, share = beside
        difference, p_value = difference_at_equal_latency(counts(place), counts(low), counts(high), share, resamples)
        return replace(row, p_value=p_value, difference=difference)

    return [tested(place, row) for place, row in enumerate(rows)]


def _beside(row: Row, base: Sequence[tuple[int, Row]]) -> tuple[int, int, float] | None:
    """The two points of the baseline with the next lower and the next higher AL, and where between them `row` lies."""
    own = row.report.value("AL")
    points = sorted((one.report.value("AL"), number) for number, one in base if not isnan(one.report.value("AL")))
    for (below, low), (above, high) in pairwise(points):
        if below <= own <= above:
            return low, high, (own - below) / (above - below) if above > below else 0.0
    return None


def _is_base(one: Row, row: Row, baseline: str) -> bool:
    return (
        one.ours
        and not one.offline
        and _policy(one) == baseline
        and "target_lag" not in one.details
        and (one.test, one.system) == (row.test, row.system)
        and all(one.details.get(name) == row.details.get(name) for name in _SAME)
    )


def _policy(row: Row) -> str:
    """Its name; none of what others have published."""
    policy: Any = row.details.get("policy", "")
    return str(policy).partition(":")[0]
