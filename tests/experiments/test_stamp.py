"""What figures that are kept say of where they come from: benchmarks/commit.py."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from benchmarks.commit import stamp

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_a_stamp_has_the_machine_the_day_and_the_commit() -> None:
    found = stamp()
    assert f", {os.cpu_count()} cores" in found["machine"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|unknown", found["commit"])


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_figures_that_are_kept_have_a_stamp(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    # A file of several runs has a stamp for each.
    for one in found.get("runs", {"": found}).values():
        assert {"machine", "date", "commit"} <= set(one)
        assert path.name.startswith(one["date"])
