"""A recipe that a test can run; plots only where they are looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.export.random_model import made_up_words


@pytest.fixture(autouse=True)
def no_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sweep is plotted, where the plots are looked at: they take longer than all of its translations."""
    if request.node.name != "test_a_sweep_scores_its_traces":
        monkeypatch.setattr("turia.experiments.sweep.results.draw", lambda *_: [])


@pytest.fixture
def toml(tmp_path: Path, model_folder: Path) -> Path:
    words = made_up_words()
    lines = [
        f"talk {i // 18}\t{' '.join(words[i : i + 6])}\t{' '.join(words[i + 9 : i + 15])}." for i in range(0, 30, 6)
    ]
    (tmp_path / "set.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "sweep-toy.toml"
    path.write_text(
        f"""
        folder = "out"
        models = [{json.dumps(str(model_folder))}]
        k = [1, 3]
        windows = [0, 2]
        batch = 4
        [[test]]
        name = "toy set"
        corpus = {{ path = "set.tsv" }}
        """,
        encoding="utf-8",
    )
    return path
