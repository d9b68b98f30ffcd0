"""The names of curves in plots and tables: what differs between the configurations of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from turia.errors import InputError
from turia.experiments.sweep.configurations import Configuration
from turia.experiments.sweep.plan import Plan

VARIED = {"h": "history", "encoding": "encoding", "recompute": "recompute", "beam": "beam"}
"""Settings that are in a curve's name where the curves differ in them, by their names in signatures."""


def curves_of(planned: Plan) -> list[str]:
    """The curve of each run; bounds have their model's name, and their beam where not all runs have it."""
    names = curve_names([run.configuration for run in planned.runs if run.model not in planned.bounds])
    many = len(planned.models) > 1
    beams = len({run.configuration.beam for run in planned.runs}) > 1
    return [
        run.model.name + (f", {_search(run.configuration)}" if beams else "")
        if run.model in planned.bounds
        else (f"{run.model.name}, " if many else "") + names[run.configuration]
        for run in planned.runs
    ]


def curve_names(chosen: Sequence[Configuration]) -> dict[Configuration, str]:
    """The curve that each is a point of: its segments, and whatever else is not the same for all."""
    differing = {
        name for name in VARIED.values() if len({getattr(configuration, name) for configuration in chosen}) > 1
    }
    one_segmentation = len({configuration.segments for configuration in chosen}) == 1
    several_policies = len({one.policy.name for one in chosen if not one.offline}) > 1

    def name(one: Configuration) -> str:
        segments = "oracle segments" if one.window is None else f"w = {one.window}"
        if one.threshold is not None:
            segments += f", p ≥ {one.threshold:g}"
        if one.block is not None:
            segments = f"blocks of {one.block} words"
        if one.free is not None:
            segments = "no segmenter" if one.free == "attention" else "no segmenter, reverse model"
        if one.offline:
            segments = "whole sentences"
        parts = [] if one_segmentation and not one.offline and (differing or several_policies) else [segments]
        if several_policies and not one.offline:
            parts.append(one.policy.name)
        if one.target_lag is not None:
            parts.append("kept lag")
        if one.glossary is not None:
            parts.append("glossary")
        if "history" in differing:
            parts.append(f"h = {one.history}")
        if "encoding" in differing:
            parts.append(one.encoding)
        if "recompute" in differing:
            parts.append("recomputed" if one.recompute else "cached")
        if "beam" in differing:
            parts.append(_search(one))
        return ", ".join(parts)

    return {configuration: name(configuration) for configuration in chosen}


def _search(configuration: Configuration) -> str:
    return "greedy" if configuration.beam == 1 else f"beam {configuration.beam}"


def without_policy(curve: str, policy: str) -> str:
    """The name of a curve as it would be if all were of one policy."""
    return ", ".join(part for part in curve.split(", ") if part != policy)


def check_baseline(planned: Plan, baseline: str) -> None:
    curves: dict[str, None] = {}
    for run, curve in zip(planned.runs, curves_of(planned), strict=True):
        if not run.configuration.offline:
            curves |= dict.fromkeys((curve, without_policy(curve, run.configuration.policy.name)))
    curves.pop("", None)
    policies = dict.fromkeys(run.configuration.policy.name for run in planned.runs if not run.configuration.offline)
    if baseline not in {**curves, **policies}:
        known = "; ".join({**curves, **policies})
        raise InputError(f"baseline is {baseline!r}, expected one of the curves or policies: {known}")
