"""The table of a sweep, as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.sweep.test_significance import row
from turia.cli import main
from turia.experiments.sweep.rows import regime_columns, settings_of
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK


def test_the_best_point_of_each_curve_in_each_regime() -> None:
    points = [(WaitK(1), 1.0, 2), (WaitK(2), 3.0, 4), (WaitK(4), 3.5, 3), (WaitK(9), 99.0, 8), (HoldN(3), 5.0, 6)]
    heads, cells = regime_columns(settings_of([row(*point) for point in points]), (3.0, 6.0))
    assert heads == ["curve", "AL ≤ 3", "3 < AL ≤ 6"]
    assert cells == [
        ["wait-k", "40.0 (AL 3.0, k = 2)", "30.0 (AL 3.5, k = 4)"],
        ["hold-n", "", "60.0 (AL 5.0, n=3)"],
    ]


def test_the_command_prints_a_table(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = toml.with_name("sweep-other.toml")
    other.write_text(toml.read_text("utf-8").replace('"out"', '"other"').replace("[0, 2]", "[]"), encoding="utf-8")
    assert main(["sweep", str(toml), str(other), "--processes", "1"]) == 0
    printed = capsys.readouterr()
    assert "oracle segments" in printed.out
    assert "…" not in printed.out, "no cell is cut short where there is no terminal"
    assert [line for line in printed.out.splitlines() if line.endswith(("/out", "/other"))] == [
        str(toml.parent / "out"), str(toml.parent / "other"),
    ]  # fmt: skip
    assert "scoring" in printed.err
    other.write_text(other.read_text("utf-8").replace("models = [", 'models = ["nobody", '), encoding="utf-8")
    assert main(["sweep", str(toml), str(other), "--fresh"]) == 2
    printed = capsys.readouterr()
    assert "nobody" in printed.err
    assert "scoring" not in printed.err, "the first recipe is not run while a later one cannot be"
    toml.write_text("windws = [1]\n" + toml.read_text("utf-8"), encoding="utf-8")
    assert main(["sweep", str(toml)]) == 2
    assert "did you mean 'windows'?" in capsys.readouterr().err
