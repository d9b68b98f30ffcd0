"""Configurations have folders of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiments.sweep.toys import model, recipe
from turia.errors import ConfigError
from turia.experiments.sweep.curves import curve_names
from turia.experiments.sweep.plan import configurations
from turia.runtime.glossary_file import read_glossary


def test_blocks_and_max_lag_are_told_apart_and_told_only_where_they_are_used() -> None:
    keys = {"k": (2,), "policies": ("hold-n:n=1",), "windows": (), "blocks": (90,), "history": (0,), "beam": (1,)}
    found = configurations(recipe(Path("x"), offline=False, max_lag=50, **keys), model())
    assert [one.name() for one in found] == [
        "b90-k2-h0",
        "b90-hold-n-n-1-h0-lag50",
        "oracle-k2-h0",
        "oracle-hold-n-n-1-h0-lag50",
    ]
    assert found[1].as_json()["block"] == 90
    assert found[1].as_json()["max_lag"] == 50
    assert found[2].as_json().keys() == {
        "window", "policy", "history", "encoding", "recompute", "beam", "gamma"
    }  # fmt: skip


def test_a_glossary_runs_everything_a_second_time(tmp_path: Path) -> None:
    table = tmp_path / "terms.tsv"
    table.write_text("ka\tmi\n")
    keys = {"k": (2,), "windows": (), "history": (0,), "beam": (1,), "offline": False}
    plain, steered = configurations(recipe(tmp_path, glossary=table, **keys), model())
    assert [plain.name(), steered.name()] == ["oracle-k2-h0", "oracle-k2-h0-terms"]
    assert "glossary" not in plain.as_json()
    assert steered.as_json()["glossary"] == str(read_glossary(table))
    assert list(curve_names([plain, steered]).values()) == ["oracle segments", "oracle segments, glossary"]


def test_every_variant_has_a_folder_of_its_own() -> None:
    found = configurations(
        recipe(Path("x"), encoding=("incremental", "full"), recompute=(False, True), beam=(1, 4)), model()
    )
    assert len({one.name() for one in found}) == len(found) == 8 * (5 * 6 + 1)


def test_free_is_for_the_models_that_can_and_for_each_cut() -> None:
    keys = {"k": (2,), "windows": (1,), "history": (0,), "beam": (1,), "free": ("attention", "reverse")}
    chosen = recipe(Path("x"), offline=False, max_lag=9, reverse_model="yy-xx", **keys)
    assert [one.name() for one in configurations(chosen, model())] == ["w1-k2-h0", "oracle-k2-h0"]
    found = configurations(chosen, replace(model(), free=True))
    assert [one.name() for one in found] == ["w1-k2-h0", "free-k2-h0-lag9", "free-reverse-k2-h0-lag9", "oracle-k2-h0"]
    assert found[2].as_json()["free"] == "reverse"
    assert "free" not in found[0].as_json()
    assert curve_names(found)[found[2]] == "no segmenter, reverse model"
    assert curve_names(found)[found[1]] == "no segmenter"


def test_a_threshold_is_of_the_segmenter_alone() -> None:
    keys = {"k": (2,), "windows": (1,), "history": (0,), "beam": (1,), "offline": False}
    found = configurations(recipe(Path("x"), thresholds=(0.5, 0.75), **keys), model())
    assert [one.name() for one in found] == ["w1p0.5-k2-h0", "w1p0.75-k2-h0", "oracle-k2-h0"]
    assert [one.as_json().get("threshold") for one in found] == [0.5, 0.75, None]
    assert list(curve_names(found).values()) == ["w = 1, p ≥ 0.5", "w = 1, p ≥ 0.75", "oracle segments"]
    with pytest.raises(ConfigError, match="windows is empty"):
        recipe(Path("x"), thresholds=(0.5,), **keys | {"windows": ()})


def test_wait_k_with_a_gamma_of_its_own_has_a_folder_of_its_own() -> None:
    keys = {"k": (4,), "windows": (), "history": (0,), "beam": (1,), "offline": False}
    found = configurations(recipe(Path("x"), policies=("wait-k:k=4,gamma=0.5",), **keys), model())
    assert [one.name() for one in found] == ["oracle-k4-h0", "oracle-wait-k-k-4-gamma-0.5-rounding-floor-h0"]


def test_what_is_asked_for_in_two_ways_is_run_once() -> None:
    keys = {"k": (4,), "windows": (2,), "history": (0,), "beam": (1,)}
    found = configurations(recipe(Path("x"), policies=("wait-k", "wait-k:k=4", "whole"), **keys), model())
    assert [one.name() for one in found] == ["w2-k4-h0", "w2-offline-h0", "oracle-k4-h0", "oracle-offline-h0"]
