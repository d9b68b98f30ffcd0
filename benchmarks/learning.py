"""Draws a dev figure of several runs into one picture, against target pieces and against minutes of training.

    python benchmarks/learning.py ~/runs/learning/*-adam muon=~/runs/learning/rotary-muon --out learning.svg

A run is called by the name of its folder, or as you call it: NAME=FOLDER. Its log, metrics.jsonl, is enough; it may
still be training. Runs of recipes/ablation/learning have the same batches in the same order. Needs the train extra.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from turia.errors import InputError, TuriaError
from turia.training.curves import draw_comparison
from turia.training.run import RunFolder


def runs_by_name(arguments: Iterable[str]) -> dict[str, RunFolder]:
    """The runs that were named, each by FOLDER or by NAME=FOLDER."""
    runs: dict[str, RunFolder] = {}
    for argument in arguments:
        name, parted, folder = argument.partition("=")
        if not parted or Path(argument).is_dir():
            name, folder = "", argument
        run = RunFolder(Path(folder).expanduser())
        if not run.metrics.is_file():
            raise InputError(f"{run.path}: no metrics.jsonl there; expected a run folder of `turia train`")
        name = name or run.path.resolve().name
        if name in runs:
            raise InputError(f"{runs[name].path} and {run.path} are both called {name}; name one of them: NAME=FOLDER")
        runs[name] = run
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="[NAME=]FOLDER", help="run folders")
    parser.add_argument("--figure", default="dev_loss", help="a key of metrics.jsonl (default: dev_loss)")
    parser.add_argument("--out", type=Path, default=Path("learning.svg"), help="SVG, PNG or PDF")
    options = parser.parse_args()
    try:
        runs = runs_by_name(options.runs)
        draw_comparison({name: run.read_log() for name, run in runs.items()}, options.figure, options.out)
    except TuriaError as error:
        sys.exit(f"learning.py: {error}")
    print(options.out)


if __name__ == "__main__":
    main()
