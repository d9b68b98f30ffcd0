"""Memory that is kept is not asked for again: the kernel has no pages to bring."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PAGES_OF_BLOCK = 32 * 2**20 // 4096
PROGRAM = """
import resource, sys
from turia.system.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
bytearray(64 * 2**20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    block = bytearray(b"x") * (32 * 2**20)  # every page is written
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_blocks_that_were_freed_are_used_again() -> None:
    # Ten blocks: without it, the kernel brings the pages of each of them.
    assert page_faults("keep") < PAGES_OF_BLOCK / 8
