"""Streams that a core holds as shipped, beside the wheel of an earlier release, in one run.

    git archive bf18459 | tar -x -C /tmp/release && (cd /tmp/release && python -m hatchling build -t wheel -d dist)
    python -m benchmarks.held /tmp/release/dist/turia-0.1.0-py3-none-any.whl [--rounds 5] [--out held.json]

Each side is measured in turn, in processes of its own, as its server measures itself when it begins: eight streams of
the sample speech with the model, the policy, the search and the segmenter that it ships. Processor time is counted; the
best round counts, and ratios are to be quoted. Today's code is also run with the policy of the earlier release, and
with its model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.commit import stamp

MEASURE = """
import sys, time
from turia import Translator
from turia.server import capacity
seconds_per_word = getattr(capacity, "seconds_per_word", None) or capacity.seconds_a_word  # its name in release 0.1
translator = Translator.load(sys.argv[1], streams=8, **({"policy": sys.argv[2]} if sys.argv[2:] else {}))
print(min(seconds_per_word(translator, 1.0, time.process_time) for _ in range(3)))
"""
LOAD, WORDS_PER_SECOND = 0.5, 2.5
"""As in turia.server.capacity, for all sides alike."""


EARLIER_POLICY = "wait-k:k=4"


def seconds(source: Path, kernels: str, model: str, *policy: str) -> float:
    """What a word costs with the Turia of `source`. Without a policy, it is the model's own."""
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "TURIA_KERNELS": kernels, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE, model, *policy]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="of the earlier release")
    parser.add_argument("--model", default="de-en")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="file for the figures")
    given = parser.parse_args()
    now = Path(__file__).parents[1] / "src"
    with TemporaryDirectory(prefix="turia-") as folder, zipfile.ZipFile(given.wheel) as wheel:
        wheel.extractall(folder)
        before, model = Path(folder), given.model
        sides: dict[str, tuple[Path, str, str, *tuple[str, ...]]] = {
            "release": (before, "auto", model),
            "now, native": (now, "native", model),
            "now, ONNX Runtime": (now, "onnx", model),
            f"now, native, {EARLIER_POLICY}": (now, "native", model, EARLIER_POLICY),
            f"now, ONNX Runtime, {EARLIER_POLICY}": (now, "onnx", model, EARLIER_POLICY),
            "now, native, the release's model": (now, "native", str(before / "turia" / "models" / model)),
        }
        best: dict[str, float] = {}
        for _ in range(given.rounds):
            for name, side in sides.items():
                best[name] = min(seconds(*side), best.get(name, float("inf")))
    found: dict[str, Any] = stamp() | {"release": given.wheel.name}
    found["milliseconds_per_word"] = {name: 1000 * cost for name, cost in best.items()}
    found["streams_held"] = {name: int(LOAD / (WORDS_PER_SECOND * cost)) for name, cost in best.items()}
    found["times_the_release"] = {name: best["release"] / cost for name, cost in best.items()}
    text = json.dumps(found, indent=1)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
