"""What a sweep writes: files that name no folder of this machine, bounds among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.experiments.sweep.test_significance import row
from tests.experiments.sweep.toys import run
from turia.experiments.sweep.results import draw, short_label, varied_parameters
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.stream.trace import parse_trace


def test_results_can_be_published(toml: Path, model_folder: Path) -> None:
    """No folder of this machine is in them, but what the recipe itself says."""
    toml.write_text(toml.read_text("utf-8").replace(str(model_folder), f"./{model_folder.name}"), encoding="utf-8")
    (toml.parent / model_folder.name).symlink_to(model_folder)
    results = run(toml)
    for name in ("results.json", "results.md"):
        assert str(toml.parent) not in (results.folder / name).read_text("utf-8")


@pytest.mark.slow
def test_bounds_are_run_offline_only_and_named_by_their_model(toml: Path, tmp_path: Path) -> None:
    from turia.export.random_model import write_random_folder

    (tmp_path / "bare").mkdir()  # without a segmenter, which a bound does not need
    write_random_folder(tmp_path / "bare", "tiny", languages=("de", "en"), vocabulary=500)
    toml.write_text('bounds = ["bare"]\n' + toml.read_text("utf-8"), encoding="utf-8")
    results = run(toml)
    assert [(row.system, row.curve, row.offline) for row in results.rows[5:]] == [
        ("tiny", "oracle segments", False),
        ("tiny", "whole sentences", True),
        ("bare", "bare", True),
    ]
    assert sorted(path.name for path in (results.folder / "toy-set/bare").iterdir()) == ["oracle-offline-h60"]
    trace = (results.folder / "toy-set/bare/oracle-offline-h60/000.jsonl").read_text("utf-8")
    assert set(parse_trace(trace.splitlines()).delays()) <= {6, 12, 18, 24, 30}
    data = json.loads((results.folder / "results.json").read_text("utf-8"))
    assert [model["name"] for model in data["models"]] == ["tiny", "bare"]
    page = (results.folder / "results.md").read_text("utf-8")
    assert "bare (`" in page
    assert page.count("|model:de-en|") == 1, "the sums of several models are told above, once"


def test_a_point_is_labelled_with_what_differs_along_its_curve() -> None:
    points = ["threshold=0.2,delay=1,epsilon=0.1", "threshold=0.3,delay=2,epsilon=0.1"]
    varied = varied_parameters(points)
    assert varied == ["threshold", "delay"]
    assert [short_label(point, varied) for point in points] == ["0.2, 1", "0.3, 2"]
    assert varied_parameters(points[:1]) == []
    assert short_label(points[0], []) == points[0]
    assert varied_parameters(["lag 3", "lag 5"]) == []
    assert varied_parameters(["a=1", "b=2"]) == []


def test_a_picture_names_the_parameters_in_its_legend(tmp_path: Path) -> None:
    rows = [row(WaitK(1), 1.0, 2), row(WaitK(2), 3.0, 4), row(HoldN(3), 5.0, 6), row(HoldN(4), 6.0, 7)]
    draw(rows, tmp_path / "dev", 0.85)
    picture = (tmp_path / "dev-latency.svg").read_text("utf-8")
    assert ">hold-n (n)<" in picture
    assert ">wait-k<" in picture
    assert ">4<" in picture
    assert "n=4" not in picture
