"""A few of the spoilt folders of benchmarks/mutated_folders.py, which makes a thousand of them."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutated_folders import odd_numbers
from tests.server.servers import ENVIRONMENT, ROOT
from turia.errors import ModelError
from turia.runtime.home import PACKAGED
from turia.runtime.tensors import check_numbers, read_stored


@pytest.mark.slow
def test_a_spoilt_folder_is_refused_in_one_line_or_translates() -> None:
    """In a process of its own, which forks: a test's process may have threads."""
    command = [sys.executable, "-m", "benchmarks.mutated_folders", "6", "5"]
    result = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (result.returncode, "'refused': " in result.stdout) == (0, True), result.stdout + result.stderr


def test_some_odd_numbers_reach_the_search(tmp_path: Path) -> None:
    """Loading refuses what is no number. Without numbers that are only too large, nothing would try native code."""
    refused = []
    for seed in range(6):
        for name in ("weights.bin", "encoder.onnx", "decoder.onnx"):
            shutil.copy(PACKAGED / "de-en" / name, tmp_path)
        said = odd_numbers(tmp_path, random.Random(seed))
        try:
            check_numbers(tmp_path, read_stored(tmp_path))
            refused.append(False)
        except ModelError:
            refused.append(True)
        assert refused[-1] == said.endswith(("nan", "inf"))
    assert set(refused) == {True, False}
