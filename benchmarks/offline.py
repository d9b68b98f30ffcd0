"""What models of the sizes that people add cost: time to load, memory, and the calls that a stream makes.

    python -m benchmarks.offline 75M 230M 600M [--kernels onnx onnx-shared native]

Random weights, int8, in the shapes of OPUS-MT (75M), OPUS-MT big (230M) and NLLB-200 distilled (600M). At each word
that is read, a stream with local agreement encodes the sentence so far, looks at the rows of its last draft in one
call, and decodes a few pieces more. Each size is measured in a process of its own. Times are of one thread, of a
sentence of 20 pieces; the time per word is that of one encoding, one look and two steps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np

from turia.engine.backend import DecodeRequest, EncodeRequest, LookRequest
from turia.export.graph import save_graphs
from turia.export.random_model import OfflineSize, offline_shape
from turia.export.tensors import graph_tensors, random_weights
from turia.runtime.folder import WEIGHTS_FILE, ModelConfig, ModelFolder
from turia.runtime.kernels import Kernels, open_runtime
from turia.system.processes import in_another_process
from turia.text.subwords import Subwords, train_subwords

PIECES = 20
SPOKEN = 2.5
"""Words a second."""


def write(size: OfflineSize, folder: Path) -> None:
    """The graphs and the weights; pieces are numbers here, so there are no subwords."""
    shape = offline_shape(size)
    save_graphs(shape, graph_tensors(shape, random_weights(shape), "int8"), "int8", folder)


def resident() -> float:
    """Megabytes of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1000


def measure(size: OfflineSize, place: str, kernels: Kernels) -> str:
    """A row of the table."""
    folder, shape = Path(place), offline_shape(size)
    before, began = resident(), time.process_time()
    any_subwords: Subwords = train_subwords({"a": 2, "b": 1}, 300)
    listed = frozenset(path.name for path in folder.iterdir())
    config = ModelConfig("xx", "xx", shape, "int8", gamma=1.0, history=0)
    runtime = open_runtime(ModelFolder(folder, config, any_subwords, any_subwords, listed), kernels=kernels)
    ids, full = np.arange(10, 10 + PIECES), np.full(PIECES, PIECES)
    [memory] = runtime.encode([EncodeRequest(None, ids, full)])
    [looks] = runtime.look([LookRequest(None, memory, ids, full)])
    loaded, grown = time.process_time() - began, resident() - before

    def timed(call: Callable[[], object]) -> float:
        call()
        started = time.process_time()
        for _ in range(5):
            call()
        return (time.process_time() - started) / 5 * 1000

    encode = timed(lambda: runtime.encode([EncodeRequest(None, ids, full)]))
    look = timed(lambda: runtime.look([LookRequest(None, memory, ids, full)]))
    step = timed(lambda: runtime.decode([DecodeRequest(looks.state, memory, ids[:1], full[:1])]))
    word = encode + look + 2 * step
    disk = (folder / WEIGHTS_FILE).stat().st_size / 1e6
    cells = [disk, grown, loaded, encode, look, step, word, 1000 / word / SPOKEN]
    return (
        f"| {size} | {kernels} | " + " | ".join(f"{cell:.1f}" if cell < 10 else f"{cell:.0f}" for cell in cells) + " |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sizes", nargs="*", choices=get_args(OfflineSize), default=["75M"])
    parser.add_argument("--kernels", nargs="+", choices=get_args(Kernels), default=["onnx"])
    given = parser.parse_args()
    print(
        "| size | kernels | disk, MB | memory, MB | load, s | encode, ms | look, ms | step, ms | word, ms | streams |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in given.sizes:
        with tempfile.TemporaryDirectory(prefix="turia-") as place:
            in_another_process(write, size, Path(place))
            for kernels in given.kernels:
                print(in_another_process(measure, size, place, kernels), flush=True)


if __name__ == "__main__":
    main()
