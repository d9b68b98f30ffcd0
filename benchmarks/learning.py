"""Draws a dev figure of several runs into one picture, against target pieces and against minutes of training.

    python benchmarks/learning.py ~/runs/learning/*-adam ~/runs/learning/*-muon --out docs/figures/learning.svg

A run is called by the name of its folder. Its log, metrics.jsonl, is enough; it may still be training. Runs of
recipes/ablation/learning have the same batches in the same order. Needs the train extra.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from turia.errors import TuriaError
from turia.training.curves import draw_comparison
from turia.training.run import RunFolder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="run folders")
    parser.add_argument("--figure", default="dev_loss", help="a key of metrics.jsonl (default: dev_loss)")
    parser.add_argument("--out", type=Path, default=Path("learning.svg"), help="SVG, PNG or PDF")
    options = parser.parse_args()
    try:
        draw_comparison({run.name: RunFolder(run).read_log() for run in options.runs}, options.figure, options.out)
    except TuriaError as error:
        sys.exit(f"learning.py: {error}")
    print(options.out)


if __name__ == "__main__":
    main()
