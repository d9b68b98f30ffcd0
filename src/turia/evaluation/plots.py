"""Plots of quality against latency. Functions take plain points and return a figure; `save` writes it.

Rules: no pyplot and no global state. Curves differ in colour (Okabe and Ito's palette, which colour-blind readers can
tell apart), in marker and in line, so that print without colour can be read too. Every point is labelled with its k,
where the label covers neither a point, nor a curve, nor another label if there is any such place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter
from numpy.typing import NDArray

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "X")
LINES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
"""7 colours, 8 markers, 5 lines: no two of these have a common factor, so that 35 curves differ in two ways or more."""
DOTS = ((0, (1, 2)), (0, (1, 4)), (0, (1, 1)), (0, (1, 1, 1, 4)), (0, (1, 7)))
"""Lines of bounds."""
GREY = "#666666"
LABEL_SIZE = 8
LEGEND_INCHES = 0.8
"""Of a figure's height, for a legend."""
LABEL_PLACES = [
    (distance * x, distance * y)
    for distance in (7, 11, 15, 20)
    for x, y in ((0, 1), (0, -1), (-1, 0.6), (1, -0.6), (-1, -0.6), (1, 0.6), (-1, 0), (1, 0))
]
"""Offsets of a label from its point in typographic points, the best first."""


@dataclass(frozen=True)
class Point:
    """One run: a point on a curve."""

    curve: str
    """Such as `w = 2`, `oracle segments`, `authors, w = 2` or `PBE, h = 60`."""
    k: int | None
    """Of wait-k; other policies have a `label`."""
    bleu: float
    al: float = float("nan")
    dal: float = float("nan")
    label: str = ""

    @property
    def name(self) -> str:
        """What the point is called beside it."""
        return self.label if self.k is None else str(self.k)


@dataclass(frozen=True)
class Bound:
    """A horizontal line: what a system reaches without having to hurry."""

    name: str
    bleu: float
    curve: str = ""
    """The curve of the same system, if it is one of several: the line has its colour."""


def bleu_against_latency(
    points: Sequence[Point],
    bounds: Sequence[Bound] = (),
    compared: Sequence[str] = (),
    title: str = "",
    dal_scale: float = 0.85,
    regimes: Sequence[float] = (),
) -> Figure:
    """BLEU against AL and against DAL side by side; curves named in `compared` stand back in grey. Where a regime of AL
    ends there is a line, as far as the points go."""
    figure, (left, right) = _figure(2, title)
    lagging: list[tuple[Axes, str, Callable[[Point], float]]] = [
        (left, "AL (source words)", lambda point: point.al),
        (right, f"DAL, s = {dal_scale:g} (source words)", lambda point: point.dal),
    ]
    drawn = []
    for axes, label, latency in lagging:
        axes.set_xlabel(label)
        drawn.append(_draw_curves(axes, points, latency, compared))
        _draw_bounds(axes, bounds)
    left.set_ylabel("BLEU")
    low, high = left.get_xlim()
    for end in regimes:
        if low < end < high:
            left.axvline(end, color=GREY, linestyle=":", linewidth=1.0, zorder=0)
    _finish(figure, drawn, bounds)
    return figure


def bleu_against_k(
    points: Sequence[Point], bounds: Sequence[Bound] = (), compared: Sequence[str] = (), title: str = ""
) -> Figure:
    """BLEU against k of wait-k, one curve per history and encoder; k on a logarithmic axis of base 2."""
    points = [point for point in points if point.k is not None]
    figure, (axes,) = _figure(1, title)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted({point.k for point in points if point.k is not None})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.set_xlabel("k")
    axes.set_ylabel("BLEU")
    _draw_curves(axes, points, lambda point: float(point.k or 0), compared)
    _draw_bounds(axes, bounds)
    # The axis itself says each point's k.
    _finish(figure, [], bounds)
    return figure


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes `stem`.png and `stem`.svg; the same figure gives the same bytes."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
    stem.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "turia", "svg.fonttype": "none"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


@dataclass(frozen=True)
class _Drawn:
    """One axes with its points in drawing order, for the labels."""

    axes: Axes
    curves: list[tuple[str, list[tuple[float, float, str]]]]
    """Colour; then x, y and name of each point."""


def _figure(columns: int, title: str) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(5.2 * columns, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title, fontsize=11)
    grid = figure.subplots(1, columns, sharey=True, squeeze=False)
    axes = list(grid[0])
    for one in axes:
        one.grid(color="#dddddd", linewidth=0.6)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0.08, y=0.1)
    return figure, axes


def _draw_curves(axes: Axes, points: Sequence[Point], x: Callable[[Point], float], compared: Sequence[str]) -> _Drawn:
    names = list(dict.fromkeys(point.curve for point in points))
    drawn: list[tuple[str, list[tuple[float, float, str]]]] = []
    bright = grey = 0
    for name in names:
        own = sorted((point for point in points if point.curve == name), key=x)
        if name in compared:
            colour, marker, line = GREY, MARKERS[-1 - grey % len(MARKERS)], LINES[-1 - grey % len(LINES)]
            grey += 1
        else:
            colour = COLOURS[bright % len(COLOURS)]
            marker, line = MARKERS[bright % len(MARKERS)], LINES[bright % len(LINES)]
            bright += 1
        axes.plot(
            [x(point) for point in own],
            [point.bleu for point in own],
            color=colour,
            marker=marker,
            linestyle=line,
            linewidth=1.4,
            markersize=5.5,
            label=name,
        )
        drawn.append((colour, [(x(point), point.bleu, point.name) for point in own]))
    return _Drawn(axes, drawn)


def _draw_bounds(axes: Axes, bounds: Sequence[Bound]) -> None:
    """One has its name above its left end, where curves that rise to the right leave room; several are in the legend.

    Bounds of like systems lie close together: their names would cover each other.
    """
    colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
    for number, bound in enumerate(bounds):
        line = axes.axhline(
            bound.bleu, color=colours.get(bound.curve, GREY), linestyle=DOTS[number % len(DOTS)], linewidth=1.3
        )
        if len(bounds) > 1:
            line.set_label(bound.name)
            continue
        axes.annotate(
            bound.name,
            (0, bound.bleu),
            xycoords=("axes fraction", "data"),
            xytext=(4, 2),
            textcoords="offset points",
            fontsize=LABEL_SIZE,
            color=GREY,
        )


def _finish(figure: Figure, drawn: Sequence[_Drawn], bounds: Sequence[Bound]) -> None:
    """The legend below the axes, then, when everything has its place, the labels."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    for rows in range(1, len(names) + 1):
        columns = ceil(len(names) / rows)
        legend = figure.legend(
            handles, names, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2
        )
        figure.draw_without_rendering()
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    # A high legend makes a higher figure, not lower axes.
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + max(0.0, legend.get_window_extent().height / figure.dpi - LEGEND_INCHES))
    figure.draw_without_rendering()
    # What has its place keeps it: labels are set in pixels.
    figure.set_layout_engine("none")
    for one in drawn:
        _label_points(figure, one, bounds)


def _label_points(figure: Figure, drawn: _Drawn, bounds: Sequence[Bound]) -> None:
    """Writes each point's name at the place that hides least. All in pixels."""
    axes = drawn.axes
    pixels = figure.dpi / 72
    to_screen = axes.transData.transform
    inside = np.array(axes.get_window_extent().extents)

    taken: list[NDArray[np.float64]] = []
    """Boxes (x0, y0, x1, y1) of points and of labels."""
    ink = [np.empty((0, 2))]
    """Spots (x, y) along the lines."""
    for _, points in drawn.curves:
        screen = [to_screen((x, y)) for x, y, _ in points]
        taken += [np.concatenate([spot - 4 * pixels, spot + 4 * pixels]) for spot in screen]
        ink += [_spots(start, end, 2 * pixels) for start, end in pairwise(screen)]
    for bound in bounds:
        y = to_screen((0, bound.bleu))[1]
        ink.append(_spots(np.array((inside[0], y)), np.array((inside[2], y)), 2 * pixels))
    lines = np.concatenate(ink)

    for colour, points in drawn.curves:
        for x, y, name in points:
            label = axes.annotate(
                name,
                (x, y),
                xytext=(0, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=LABEL_SIZE,
                color=colour,
            )
            box = label.get_window_extent().padded(pixels).extents
            boxes = [box + pixels * np.array(place * 2) for place in LABEL_PLACES]
            # A label far from its point is as hard to read as one that a line crosses.
            costs = [
                _hidden(box, np.array(taken), lines, inside) + float(np.hypot(*place)) / 3
                for box, place in zip(boxes, LABEL_PLACES, strict=True)
            ]
            best = costs.index(min(costs))
            label.set_position(LABEL_PLACES[best])
            taken.append(boxes[best])


def _spots(start: NDArray[np.float64], end: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Spots along a line, about `step` apart: (n, 2)."""
    count = 2 + int(np.hypot(*(end - start)) / step)
    return np.linspace(start, end, count)


def _hidden(
    box: NDArray[np.float64], taken: NDArray[np.float64], lines: NDArray[np.float64], inside: NDArray[np.float64]
) -> int:
    """How much a label would hide: points and other labels weigh most, then leaving the axes, then lines."""
    low, high = box[:2], box[2:]
    boxes = ((taken[:, :2] < high) & (taken[:, 2:] > low)).all(axis=1).sum()
    spots = ((lines > low) & (lines < high)).all(axis=1).sum()
    outside = (low < inside[:2]).any() or (high > inside[2:]).any()
    return int(100 * boxes + 50 * outside + spots)
