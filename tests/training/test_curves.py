"""The picture of a run: one line for each figure of its log, against hours of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from turia.training.curves import draw_curves

LOG = [
    {"step": 10, "seconds": 1800.0, "loss": 6.0, "tokens_per_second": 900.0},
    {"step": 20, "seconds": 3600.0, "loss": 5.0, "dev_loss_k4": 4.5, "dev_loss_k8": 4.0, "bleu_talks_k4": 3.0},
]


def test_every_figure_has_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    save = Figure.savefig

    def look(figure: Figure, *arguments: object, **options: object) -> None:
        drawn.append(figure)
        save(figure, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", look)
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
