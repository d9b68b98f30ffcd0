"""The curves of a run as one picture: training loss, dev loss by k, BLEU, and speed, against hours of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_curves(log: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the lines of `metrics.jsonl` into a PNG."""
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
