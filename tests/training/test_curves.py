"""The picture of a run: one line for each figure of its log, against hours of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from turia.errors import InputError
from turia.training.curves import draw_comparison, draw_curves, points

LOG = [
    {"step": 10, "seconds": 1800.0, "loss": 6.0, "tokens_per_second": 900.0},
    {"step": 20, "seconds": 3600.0, "loss": 5.0, "dev_loss_k4": 4.5, "dev_loss_k8": 4.0, "bleu_talks_k4": 3.0},
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that have been saved."""
    figures: list[Figure] = []
    save = Figure.savefig

    def look(figure: Figure, *arguments: object, **options: object) -> None:
        figures.append(figure)
        save(figure, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", look)
    return figures


def test_every_figure_has_its_line(tmp_path: Path, drawn: list[Figure]) -> None:
    draw_curves(LOG, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    loss, dev_loss, bleu, speed = drawn[0].axes
    assert [np.asarray(line.get_xydata()).tolist() for line in loss.lines] == [[[0.5, 6.0], [1.0, 5.0]]]
    assert [line.get_label() for line in dev_loss.lines] == ["k4", "k8"]
    assert [line.get_label() for line in bleu.lines] == ["talks k4"]
    assert [np.asarray(line.get_xydata()).tolist() for line in speed.lines] == [[[0.5, 900.0]]]


def test_an_empty_log_gives_an_empty_picture(tmp_path: Path) -> None:
    draw_curves([], tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 100


MUON = [
    {"step": 100, "seconds": 60.0, "target_tokens": 2_000_000, "loss": 6.0},
    {"step": 150, "seconds": 90.0, "dev_loss": 4.0, "bleu_k8_h0": 1.5},
    {"step": 200, "seconds": 120.0, "target_tokens": 4_000_000, "loss": 5.0},
    {"step": 210, "seconds": 126.0, "dev_loss": 3.5},
]
ADAM = [{"step": 50, "seconds": 30.0, "dev_loss": 5.0}, {"step": 100, "seconds": 60.0, "target_tokens": 1_000_000}]


def test_pieces_are_interpolated_by_steps() -> None:
    assert points(MUON, "dev_loss") == [(3.0, 1.5, 4.0), (4.0, 2.1, 3.5)]
    assert points(ADAM, "dev_loss") == [(0.5, 0.5, 5.0)]
    assert points(MUON, "bleu_k8_h0") == [(3.0, 1.5, 1.5)]
    assert points([], "dev_loss") == []


def test_runs_are_drawn_against_pieces_and_against_minutes(tmp_path: Path, drawn: list[Figure]) -> None:
    draw_comparison({"adam": ADAM, "muon": MUON}, "dev_loss", tmp_path / "learning.svg")
    assert (tmp_path / "learning.svg").read_text().startswith("<?xml")
    pieces, minutes = drawn[0].axes
    for axis, label, expected in (
        (pieces, "million target pieces", [[[0.5, 5.0]], [[3.0, 4.0], [4.0, 3.5]]]),
        (minutes, "minutes of training", [[[0.5, 5.0]], [[1.5, 4.0], [2.1, 3.5]]]),
    ):
        assert axis.get_xlabel() == label
        assert [line.get_label() for line in axis.lines] == ["adam", "muon"]
        assert [np.asarray(line.get_xydata()).tolist() for line in axis.lines] == expected


def test_a_figure_that_a_run_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run adam has no figure 'bleu_k8_h0' in its log; it has dev_loss$"):
        draw_comparison({"muon": MUON, "adam": ADAM}, "bleu_k8_h0", tmp_path / "x.svg")
    with pytest.raises(InputError, match=r"run new has no figure 'dev_loss' in its log; it has no validation yet$"):
        draw_comparison({"new": []}, "dev_loss", tmp_path / "x.svg")
