"""The faults of benchmarks/server_faults.py at a small size."""

from __future__ import annotations

import pytest

from benchmarks.server_faults import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("scenario", "size"),
    [
        ("cuts", 40),
        ("kills", 3),
        ("viewers", 30),
        # Three times what the buffers on the way take (700 words did fit, and 800 at times): or else nobody
        # would notice that he does not read.
        ("slow-reader", 2400),
        ("stuck-reader", 2400),
        ("fuzz", 500),
        ("idle", 100),
        ("odd", 200),
        ("finished", 600),
        ("day", 450),
    ],
)
def test_faults(scenario: str, size: int) -> None:
    assert run(scenario, size)
