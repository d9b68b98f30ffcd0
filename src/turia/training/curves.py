"""Pictures of training: the curves of one run, and one figure of several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turia.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_curves(log: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the lines of `metrics.jsonl` against hours of training: loss, dev loss by k, BLEU and speed."""
    # Here, not above: training begins a second sooner, and not every process of it draws.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(2, 2)
    _lines(axes[0, 0], log, "loss", "training loss (smoothed labels, nats)")
    _lines(axes[0, 1], log, "dev_loss_", "dev loss (nats)")
    _lines(axes[1, 0], log, "bleu_", "dev BLEU (streaming, reference segmentation)")
    _lines(axes[1, 1], log, "tokens_per_second", "target tokens per second")
    for axis in axes[1]:
        axis.set_xlabel("hours of training")
    figure.savefig(path, dpi=110)


def draw_comparison(logs: Mapping[str, Sequence[dict[str, Any]]], name: str, path: Path) -> None:
    """Draws the figure `name` of several runs, by their labels: against target pieces, and against minutes."""
    from matplotlib.figure import Figure

    curves = {label: points(log, name) for label, log in logs.items()}
    if missing := [label for label, found in curves.items() if not found]:
        known = sorted({key for entry in logs[missing[0]] for key in entry if key.startswith(("dev_", "bleu_"))})
        raise InputError(
            f"the run {missing[0]} has no figure {name!r} in its log; it has {', '.join(known) or 'no validation yet'}"
        )
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    for column, (axis, unit) in enumerate(
        zip(figure.subplots(1, 2, sharey=True), ("million target pieces", "minutes of training"), strict=True)
    ):
        for label, found in curves.items():
            axis.plot([point[column] for point in found], [point[2] for point in found], marker=".", label=label)
        axis.set_xlabel(unit)
        axis.grid(alpha=0.3)
        if column == 0:
            axis.set_ylabel(name.replace("_", " "))
            axis.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def points(log: Sequence[dict[str, Any]], name: str) -> list[tuple[float, float, float]]:
    """Million target pieces, minutes and the value of a figure, at each validation that has it.

    Validations do not log the pieces: they are interpolated by steps between the entries that do.
    """
    counted = [(0, 0), *((entry["step"], entry["target_tokens"]) for entry in log if "target_tokens" in entry)]
    steps, pieces = np.array(counted).T
    return [
        (float(np.interp(entry["step"], steps, pieces)) / 1e6, entry["seconds"] / 60, entry[name])
        for entry in log
        if name in entry
    ]


def _lines(axis: Axes, log: Sequence[dict[str, Any]], prefix: str, title: str) -> None:
    """One line for each figure whose name begins with `prefix`."""
    names = {key for entry in log for key in entry if key.startswith(prefix)}
    for name in sorted(names, key=lambda name: (len(name), name)):
        points = [(entry["seconds"] / 3600, entry[name]) for entry in log if name in entry]
        label = name.removeprefix(prefix).replace("_", " ")
        axis.plot(*zip(*points, strict=True), marker="." if len(points) < 40 else "", label=label or None)
    axis.set_title(title, fontsize=10)
    axis.grid(alpha=0.3)
    if len(names) > 1:
        axis.legend(fontsize=8)
