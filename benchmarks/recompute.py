"""Makes the table of docs/policies.md on decoder states: kept as they were computed, or computed again at each word.

    python -m benchmarks.recompute [RECIPE ...] [--page docs/policies.md] [--processes 1] [--written-only]

A recipe has `recompute = [false, true]` and the reference's sentences. It is swept first, as by benchmarks/policies.py.
Each policy is compared with itself: the difference in BLEU is that of recomputed states from kept ones with the same
parameters, with p by paired bootstrap.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

from benchmarks.page import fill, recipes_of, sweep_options
from benchmarks.policies import Point, points
from turia.config import SweepRecipe, load_recipe
from turia.evaluation.bootstrap import Counts, difference_at_equal_latency, sentence_counts
from turia.evaluation.inputs import load_streams, read_lines
from turia.evaluation.options import EvaluationOptions
from turia.evaluation.report import evaluate
from turia.runtime.folder import SHORT_SUM

RESAMPLES = 1000
HEADS = ("policy", "kept: BLEU", "AL", "words/s", "recomputed: BLEU", "AL", "words/s", "difference (p)")


def counts(folder: Path, row: dict[str, Any]) -> Counts:
    """What BLEU adds up over the sentences of a run, cut as its row of the results was."""
    test, run = folder / row["trace"].partition("/")[0], folder / row["trace"]
    source, reference = test / "000.source", test / "000.reference"
    report = evaluate(load_streams([source], [reference], [run / "000.jsonl"]), EvaluationOptions())
    return sentence_counts(report.hypotheses, read_lines(reference))


def section(results: dict[str, Any], name: str, day: datetime.date, folder: Path) -> str:
    """What the page says about a sweep, whose traces are in `folder`."""
    (test,) = results["tests"]
    models = ", ".join(f"{model['name']} (`{model['sha256'][:SHORT_SUM]}`)" for model in results["models"])
    what = f"{test['name']}: {test['sentences']:,} sentences, the reference's, greedy. Model: {models}."
    lines = [f"{what} {day:%-d %B %Y}, `python -m benchmarks.recompute recipes/{name}.toml`.", ""]
    lines += [f"| {' | '.join(HEADS)} |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
    measured = list(zip(points(results), results["results"], strict=True))
    for kept, row in measured:
        if kept.recompute:
            continue
        other, its_row = next(pair for pair in measured if pair[0].recompute and pair[0].policy == kept.policy)
        before, after = (counts(folder, one) for one in (row, its_row))
        difference, p_value = difference_at_equal_latency(after, before, before, 0.0, RESAMPLES)
        cells = [*_cells(kept), *_cells(other), f"{difference:+.1f} ({p_value:.3f})"]
        lines.append(f"| `{kept.policy}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(point: Point) -> list[str]:
    return [f"{point.bleu:.1f}", f"{point.al:.1f}", "" if point.speed is None else f"{point.speed:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sweep_options(parser, "docs/policies.md")
    options = parser.parse_args()
    for recipe in recipes_of(options, "sweep-recompute-*.toml"):
        folder = load_recipe(SweepRecipe, recipe).folder

        def filled(results: dict[str, Any], name: str, day: datetime.date, folder: Path = folder) -> str:
            return section(results, name, day, folder)

        fill(options, recipe, filled)


if __name__ == "__main__":
    main()
