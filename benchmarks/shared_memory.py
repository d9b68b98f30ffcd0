"""How much memory processes that load the same model share: the proportional set size (PSS) of one and of several.

    python -m benchmarks.shared_memory de-en [--processes 2 4] [--beam 4] [--out shared-memory.json]
    python -m benchmarks.shared_memory 75M --kernels native onnx onnx-shared     # random weights, OPUS-MT's shape

Each process translates a sentence and then waits. The PSS counts a page that n processes have as 1/n to each of them:
the sum is what they take together. A random model gets what `turia models add` gives a model for native code: matrices
that are mapped (packed.bin). Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args

from benchmarks.commit import stamp
from turia.export.random_model import OfflineSize, random_folder
from turia.runtime.folder import WEIGHTS_FILE, load_folder
from turia.runtime.kernels import Kernels, why_not_native
from turia.runtime.packed import PACKED_FILE, add_packed
from turia.runtime.translator import Translator, find_model

_CHILD = """
import sys
from benchmarks.shared_memory import load
kept = load(sys.argv[1], int(sys.argv[2]), sys.argv[3])
print("ready", flush=True)
sys.stdin.read()
"""
_BARE = "import numpy, onnxruntime, turia.runtime.translator, sys; print('ready', flush=True); sys.stdin.read()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    parser.add_argument("--kernels", nargs="+", choices=get_args(Kernels), default=["auto"])
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the figures")
    given = parser.parse_args()
    with ExitStack() as stack:
        sizes = get_args(OfflineSize)
        folder = (
            stack.enter_context(random_folder(given.model, "int8")) if given.model in sizes else find_model(given.model)
        )
        converted = load_folder(folder)
        if given.model in sizes and why_not_native(converted) is None:
            add_packed(converted)
        weights = (folder / WEIGHTS_FILE).stat().st_size / 1e6
        found: dict[str, Any] = stamp() | {"model": given.model, "beam": given.beam, "weights": weights}
        found["without a model"] = measured([sys.executable, "-c", _BARE], 1)
        for kernels in given.kernels:
            run = [sys.executable, "-c", _CHILD, str(folder), str(given.beam), kernels]
            for count in (1, *given.processes):
                found[f"{kernels}, {count} processes"] = each = measured(run, count)
                total, mapped = (sum(one[key] for one in each) for key in ("pss", "weights_pss"))
                print(f"{kernels}, {count} processes: {total:.0f} MB, {mapped:.0f} of them mapped weights", flush=True)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def load(folder: str, beam: int, kernels: Kernels) -> Translator:
    """The model after a sentence."""
    translator = Translator.load(folder, beam=beam, kernels=kernels)
    stream = translator.stream(punctuation=True, policy="whole")
    for word in ("a", "b", "c."):
        stream.push(word)
    stream.flush()
    return translator


def measured(command: list[str], count: int) -> list[dict[str, float]]:
    """Megabytes of each of so many processes while all of them run: of mapped weights, and of everything."""
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        return [maps(child.pid) for child in children]
    finally:
        for child in children:
            child.communicate()


def maps(process: int) -> dict[str, float]:
    """PSS and RSS of a process, in all and of its mapping of the weights."""
    sums = {"pss": 0.0, "rss": 0.0, "weights_pss": 0.0, "weights_rss": 0.0}
    mapped = False
    for line in Path(f"/proc/{process}/smaps").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if "-" in name.split()[0]:
            mapped = line.endswith((WEIGHTS_FILE, PACKED_FILE))
        elif name in ("Pss", "Rss"):
            megabytes = int(value.split()[0]) / 1000
            sums[name.lower()] += megabytes
            if mapped:
                sums[f"weights_{name.lower()}"] += megabytes
    return sums


if __name__ == "__main__":
    main()
