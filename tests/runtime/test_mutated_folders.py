"""A few of the spoilt folders of benchmarks/mutated_folders.py, which makes a thousand of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.server.servers import ENVIRONMENT, ROOT


@pytest.mark.slow
def test_a_spoilt_folder_is_refused_in_one_line_or_translates() -> None:
    """In a process of its own, which forks: a test's process may have threads."""
    command = [sys.executable, "-m", "benchmarks.mutated_folders", "6", "5"]
    result = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (result.returncode, "'refused': " in result.stdout) == (0, True), result.stdout + result.stderr
