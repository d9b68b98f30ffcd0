"""A few of the spoilt folders of benchmarks/mutated_folders.py, which makes a thousand of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.server.servers import ENVIRONMENT, ROOT


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 14, 20], ids=["brackets", "bytes", "device"])
def test_a_spoilt_folder_is_refused_in_one_line(seed: int) -> None:
    """In a process of its own, which forks: a test's process may have threads."""
    command = [sys.executable, "-m", "benchmarks.mutated_folders", "1", str(seed)]
    result = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert result.stdout.endswith("{'refused': 1}\n"), result.stdout
