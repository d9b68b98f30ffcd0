"""The steps of a model's dial from the results.json of a sweep: points of the policy that was best there.

It is the one with the highest mean BLEU over the latencies (AL) that all policies reach on the first test set. Of its
points, those stay that are better than every sooner one. Of a sweep of several models, beams or computations, the first
model counts, with its widest beam and the first computation: what a server runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from turia.errors import FormatError
from turia.policy.dial import DialPoint
from turia.system.files import read_json

_GRID = 20
_FIRST = ("test", "system", "history", "encoding", "recompute")
"""Of these, only rows are looked at that have what the first one has."""


@dataclass(frozen=True)
class _Measured:
    policy: str
    al: float
    bleu: float


def dial_of(path: Path) -> tuple[DialPoint, ...]:
    """From the soonest to the surest."""
    data = read_json(path, "results.json of a sweep, which `turia sweep` writes", FormatError)
    try:
        curves = _curves(data["results"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"not the results of a sweep: {error!r}", path) from error
    if not curves:
        raise FormatError("no policy has two points or more, one better than the other: there is nothing to dial", path)
    best = curves[best_curve(curves)]
    return tuple(DialPoint(point.policy, round(point.al, 2), round(point.bleu, 2)) for point in best)


def best_curve(curves: Mapping[str, Sequence[_Measured]]) -> str:
    """The policy with the highest mean BLEU where all of them have points; with the highest of all, if there is no such
    latency."""
    begin = max(curve[0].al for curve in curves.values())
    end = min(curve[-1].al for curve in curves.values())
    if begin >= end:
        return max(curves, key=lambda name: curves[name][-1].bleu)
    grid = np.linspace(begin, end, _GRID)

    def mean(name: str) -> float:
        curve = curves[name]
        return float(np.interp(grid, [point.al for point in curve], [point.bleu for point in curve]).mean())

    return max(curves, key=mean)


def _curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[_Measured]]:
    """The points of each policy that are better than the sooner ones, on the first test set, with the segmenter if it
    was run."""
    own = [row for row in rows if "policy" in row and not row["offline"] and "target_lag" not in row]
    for key in _FIRST:
        own = [row for row in own if row.get(key) == own[0].get(key)]
    widest = max((row.get("beam", 1) for row in own), default=1)
    own = [row for row in own if row.get("beam", 1) == widest]
    segmented = [row for row in own if row["window"] is not None]
    curves: dict[str, list[_Measured]] = {}
    for row in segmented or own:
        point = _Measured(str(row["policy"]), float(row["AL"]), float(row["BLEU"]))
        curves.setdefault(point.policy.partition(":")[0], []).append(point)
    better = {name: _better(points) for name, points in curves.items()}
    return {name: points for name, points in better.items() if len(points) > 1}


def _better(points: Sequence[_Measured]) -> list[_Measured]:
    kept: list[_Measured] = []
    for point in sorted(points, key=lambda one: one.al):
        if not kept or point.bleu > kept[-1].bleu:
            kept.append(point)
    return kept
