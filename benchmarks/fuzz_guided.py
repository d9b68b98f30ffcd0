"""The targets of benchmarks/fuzz.py, guided by coverage: python -m benchmarks.fuzz_guided TARGET [COUNT] [CORPUS]

libFuzzer (atheris, which you install yourself: `pip install atheris`) changes bytes, hypothesis makes an input of them,
and bytes that reach new code are kept and changed further. COUNT is how many inputs are tried (1,000,000). CORPUS is a
folder in which those bytes are kept from run to run. A finding ends it with a traceback and the bytes in a file
crash-...; without one it ends with "Done COUNT runs".
"""

from __future__ import annotations

import sys
import time
from typing import Any

import atheris
from hypothesis import HealthCheck, given, settings

with atheris.instrument_imports(include=["turia"]):
    from benchmarks.fuzz import SLOW, TARGETS


def main(name: str, count: int, corpus: list[str]) -> None:
    strategy, target = TARGETS[name]

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def try_one(value: Any) -> None:
        began = time.process_time()
        target(value)
        # Instrumented code is slower.
        assert time.process_time() - began < 5 * SLOW, f"{time.process_time() - began:.1f} s"

    options = [sys.argv[0], f"-runs={count}", "-max_len=4096", "-len_control=0", *corpus]
    atheris.Setup(options, try_one.hypothesis.fuzz_one_input)  # type: ignore[attr-defined]
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"expected a target of {', '.join(TARGETS)}; see python -m pydoc benchmarks.fuzz_guided")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000, sys.argv[3:])
