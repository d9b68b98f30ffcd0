"""Native code for ARM gives the bits that it gives here. Needs a cross compiler and an emulator, and skips without."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "kernels" / "csrc"
FLAGS = ["-std=gnu11", "-O1", "-ffp-contract=off", "-fno-math-errno", "-DTURIA_WITHOUT_PYTHON", "-static", "-pthread"]
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def sums(compiler: str, folder: Path, *run_by: str) -> dict[str, str]:
    """What kernels/csrc/selftest.c prints: a sum of all results for each variant."""
    program = folder / f"selftest-{compiler}"
    sources = sorted(SOURCES.glob("*.c"))
    subprocess.run([compiler, *FLAGS, *map(str, sources), "-o", str(program), "-lm"], check=True)
    printed = subprocess.run([*run_by, str(program)], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in printed.splitlines())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.skipif(shutil.which(CROSS) is None, reason=f"{CROSS} is not installed")
@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
def test_arm_gives_the_same_bits(tmp_path: Path) -> None:
    here, there = sums("gcc", tmp_path), sums(CROSS, tmp_path, EMULATOR, "-cpu", "max")
    assert list(there) == ["neon-dotprod", "neon", "portable"]
    assert here["portable"] != "0" * 16
    assert set(there.values()) == set(here.values()) == {here["portable"]}
