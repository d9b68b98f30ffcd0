"""The runtime: milliseconds of its calls, for each size and precision, with random weights.

    python -m benchmarks.runtime [--presets small base big] [--precisions float32 int8] [--seconds 3]

A window of 120 source positions and 100 target rows, which is 60 words of history and a sentence of 20, one thread:
encoding the window, one more position, decoding the target history, one more row; and one more position or row of 16
streams together, per stream. Times are processor time, so that another job on the machine counts only by the caches
and the memory that it uses; the best of as many calls as fit into the seconds, because whatever disturbs makes slower.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from benchmarks.commit import commit
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.experiments.bench import processor
from turia.export.random_model import write_random_folder
from turia.runtime.folder import load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.states import SourceState, TargetState
from turia.text.layout import Ints

T = TypeVar("T")

SOURCE, TARGET, STREAMS, STEPS = 120, 100, 16, 6
COLUMNS = ("encoder step", "window", "decoder step", "prefill", f"encoder x{STREAMS}", f"decoder x{STREAMS}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Milliseconds of the runtime's calls.")
    parser.add_argument("--presets", nargs="+", default=["small", "base", "big"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "int8"])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    given = parser.parse_args()
    print(f"{processor()}, {date.today()}, commit {commit()}\n")
    print("| ms | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "---|" * len(COLUMNS))
    for preset in given.presets:
        for precision in given.precisions:
            with TemporaryDirectory(prefix="turia-") as name:
                write_random_folder(Path(name), preset, precision)
                times = measure(Runtime(load_folder(Path(name))), given.seconds)
            print(
                f"| {preset} {precision} | " + " | ".join(f"{1000 * value:.2f}" for value in times) + " |", flush=True
            )


def measure(runtime: Runtime, seconds: float) -> list[float]:
    """Seconds of one call, in the order of COLUMNS."""

    def encode(states: list[SourceState]) -> list[SourceState]:
        return runtime.encode([EncodeRequest(state, _ids(1), np.array([state.length + 1])) for state in states])

    def decode(states: list[tuple[TargetState, SourceState]]) -> list[tuple[TargetState, SourceState]]:
        requests = [DecodeRequest(state, memory, _ids(1), np.array([memory.length])) for state, memory in states]
        results = runtime.decode(requests)
        return [(result[0], request[1]) for result, request in zip(results, states, strict=True)]

    def window() -> SourceState:
        return runtime.encode([EncodeRequest(None, _ids(SOURCE), np.arange(1, SOURCE + 1))])[0]

    def prefill(memory: SourceState) -> TargetState:
        return runtime.decode([DecodeRequest(None, memory, _ids(TARGET), np.full(TARGET, SOURCE))])[0][0]

    memory = window()
    windows = [window() for _ in range(STREAMS)]
    histories = [(prefill(each), each) for each in windows]
    return [
        _best(seconds, lambda: [window()], encode),
        _best(seconds, window, lambda _: window()),
        _best(seconds, lambda: [(prefill(memory), memory)], decode),
        _best(seconds, lambda: prefill(memory), lambda _: prefill(memory)),
        _best(seconds, lambda: windows, encode) / STREAMS,
        _best(seconds, lambda: histories, decode) / STREAMS,
    ]


def _best(seconds: float, begin: Callable[[], T], step: Callable[[T], T]) -> float:
    """The shortest of many steps, a few at a time one after the other."""
    times: list[float] = []
    until = time.monotonic() + seconds
    while len(times) < 2 * STEPS or time.monotonic() < until:
        state = begin()
        for _ in range(STEPS):
            began = time.process_time()
            state = step(state)
            times.append(time.process_time() - began)
    return min(times)


def _ids(count: int) -> Ints:
    return np.arange(300, 300 + count)


if __name__ == "__main__":
    main()
