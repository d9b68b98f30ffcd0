"""Curves are named by what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.sweep.toys import model, recipe, run
from turia.errors import InputError
from turia.experiments.sweep.configurations import Configuration
from turia.experiments.sweep.curves import curve_names
from turia.experiments.sweep.plan import configurations
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole


def test_curves_are_named_by_what_differs() -> None:
    segmented = [Configuration(2, WaitK(4), 60), Configuration(None, WaitK(4), 60), Configuration(None, Whole(), 60)]
    assert list(curve_names(segmented).values()) == ["w = 2", "oracle segments", "whole sentences"]
    histories = [Configuration(None, WaitK(4), 0), Configuration(None, WaitK(4), 60), Configuration(None, Whole(), 60)]
    assert list(curve_names(histories).values()) == ["h = 0", "h = 60", "whole sentences, h = 60"]
    variants = [Configuration(None, WaitK(4), 60), Configuration(None, WaitK(4), 60, "full", True, 4)]
    assert list(curve_names(variants).values()) == ["incremental, cached, greedy", "full, recomputed, beam 4"]


def test_other_policies_are_curves_beside_wait_k() -> None:
    chosen = recipe(Path("x"), k=(4,), policies=("hold-n:n=1", "hold-n:n=3"), windows=(2,), oracle=False, beam=(1,))
    found = configurations(chosen, model())
    assert [one.policy for one in found] == [WaitK(4), HoldN(1), HoldN(3), Whole()]
    assert [one.name() for one in found] == [
        "w2-k4-h40",
        "w2-hold-n-n-1-h40",
        "w2-hold-n-n-3-h40",
        "oracle-offline-h40",
    ]
    assert list(curve_names(found).values()) == [
        "w = 2, wait-k",
        "w = 2, hold-n",
        "w = 2, hold-n",
        "whole sentences",
    ]


def test_a_baseline_that_is_no_curve_is_refused_before_any_work(toml: Path) -> None:
    toml.write_text('resamples = 20\nbaseline = "h = 0"\n' + toml.read_text("utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match="one of the curves or policies: w = 0; w = 2; oracle segments; wait-k"):
        run(toml)
    assert not (toml.parent / "out/toy-set/tiny").exists()
