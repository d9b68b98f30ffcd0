"""Plots: every run is where it belongs, can be told from the others, and has its k beside it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from numpy.typing import NDArray

from turia.evaluation.plots import Bound, Point, bleu_against_k, bleu_against_latency, save

KS = (1, 2, 4, 8, 16, 32)
POINTS = [
    Point(f"w = {w}", k, bleu=20 + 3 * index - 0.2 * index**2 + w / 5, al=1 + w + 2 * index, dal=2 + w + 3 * index)
    for w in range(5)
    for index, k in enumerate(KS)
]
AUTHORS = [
    Point("authors", k, bleu=19 + 2 * index, al=1.5 + 2 * index, dal=2.5 + 3 * index) for index, k in enumerate(KS)
]
OFFLINE = Bound("offline", 31.5)


def spots(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_xydata(), dtype=np.float64)


def labels(axes: Axes) -> list[Annotation]:
    return [text for text in axes.texts if isinstance(text, Annotation) and text.get_text().isdigit()]


def test_bleu_against_latency_shows_every_run_twice() -> None:
    figure = bleu_against_latency(POINTS + AUTHORS, [OFFLINE], compared=["authors"])
    left, right = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("AL (source words)", "DAL, s = 0.85 (source words)")
    for axes, latency in ((left, "al"), (right, "dal")):
        curves = {line.get_label(): line for line in axes.get_lines() if len(spots(line)) == len(KS)}
        assert len(curves) == 6
        own = [point for point in POINTS if point.curve == "w = 3"]
        assert spots(curves["w = 3"]).tolist() == [[getattr(point, latency), point.bleu] for point in own]
        assert sorted(int(label.get_text()) for label in labels(axes)) == sorted(KS * 6)
        assert [spots(line)[0, 1] for line in axes.get_lines() if line not in curves.values()] == [31.5]


def test_regimes_of_latency_have_lines_as_far_as_the_points_go() -> None:
    """AL goes from 1 to 15."""
    plain, marked = bleu_against_latency(POINTS), bleu_against_latency(POINTS, regimes=[3, 6, 30])
    new = [line for line in marked.axes[0].get_lines() if len(spots(line)) == 2]
    assert [spots(line)[:, 0].tolist() for line in new] == [[3, 3], [6, 6]]
    assert marked.axes[0].get_xlim() == plain.axes[0].get_xlim()
    assert len(marked.axes[1].get_lines()) == len(plain.axes[1].get_lines())


def test_curves_differ_in_colour_marker_and_line() -> None:
    axes = bleu_against_latency(POINTS + AUTHORS, compared=["authors"]).axes[0]
    looks = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.get_lines()]
    for one, other in combinations(looks, 2):
        assert one[0] != other[0]
        assert one[1] != other[1]


def test_many_curves_look_different() -> None:
    many = [Point(f"arm {arm}", k, bleu=20 + arm + k / 8) for arm in range(20) for k in (2, 8)]
    (axes,) = bleu_against_k(many).axes
    looks = [(line.get_color(), line.get_marker(), line._dash_pattern) for line in axes.get_lines()]  # type: ignore[attr-defined]
    for one, other in combinations(looks, 2):
        assert sum(mine != theirs for mine, theirs in zip(one, other, strict=True)) >= 2


def test_several_bounds_are_in_the_legend_and_not_on_each_other() -> None:
    bounds = [Bound("whole sentences", 31.5), Bound("bidirectional", 31.7), Bound("of w = 3", 30.0, curve="w = 3")]
    figure = bleu_against_latency(POINTS, bounds)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [*(f"w = {w}" for w in range(5)), "whole sentences", "bidirectional", "of w = 3"]
    for axes in figure.axes:
        assert len(labels(axes)) == len(axes.texts)
        lines = {str(line.get_label()): line for line in axes.get_lines()}
        assert [spots(lines[bound.name])[0, 1] for bound in bounds] == [31.5, 31.7, 30.0]
        assert lines["of w = 3"].get_color() == lines["w = 3"].get_color()
        assert lines["whole sentences"]._dash_pattern != lines["bidirectional"]._dash_pattern  # type: ignore[attr-defined]


def test_a_figure_says_its_title() -> None:
    for draw in (bleu_against_latency, bleu_against_k):
        assert draw(AUTHORS, title="tst2010, h = 0").get_suptitle() == "tst2010, h = 0"


def test_labels_cover_no_label_and_no_point() -> None:
    figure = bleu_against_latency(POINTS)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for axes in figure.axes:
        boxes = [label.get_window_extent(renderer) for label in labels(axes)]
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
        points = [axes.transData.transform(spot) for line in axes.get_lines() for spot in spots(line)]
        assert not [spot for spot in points for box in boxes if box.contains(*spot)]


@pytest.mark.slow
def test_the_legend_fits_below_the_axes() -> None:
    long = [Point(f"an encoder with a long name, h = {h}", k, 20 + h + k / 8) for h in range(12) for k in KS]
    figure = bleu_against_k(long)
    (legend,) = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0
    assert box.x1 <= page.x1
    axes = figure.axes[0].get_window_extent()
    assert box.y1 <= axes.y0
    assert axes.height > 2.8 * figure.dpi, "inches, of which a long legend takes nothing"


def test_bleu_against_k_has_a_tick_for_each_k() -> None:
    (axes,) = bleu_against_k([Point("PBE, h = 60", k, 20 + k / 4) for k in KS], [OFFLINE]).axes
    assert axes.get_xscale() == "log"
    assert axes.get_xticks().tolist() == list(KS)
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(k) for k in KS]


@pytest.mark.slow
def test_figures_are_written_twice_and_always_the_same(tmp_path: Path) -> None:
    first = save(bleu_against_latency(AUTHORS, [OFFLINE]), tmp_path / "new" / "w2.k4")
    assert [path.name for path in first] == ["w2.k4.png", "w2.k4.svg"]
    again = save(bleu_against_latency(AUTHORS, [OFFLINE]), tmp_path / "again")
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in first[1].read_text(encoding="utf-8")
