"""The faults of benchmarks/server_faults.py at a small size."""

from __future__ import annotations

import pytest

from benchmarks.server_faults import run


@pytest.mark.parametrize(
    ("scenario", "size"),
    [
        ("cuts", 40),
        ("kills", 3),
        ("viewers", 30),
        ("slow-reader", 800),
        ("stuck-reader", 800),
        ("fuzz", 500),
        ("idle", 100),
    ],
)
def test_faults(scenario: str, size: int) -> None:
    assert run(scenario, size)
