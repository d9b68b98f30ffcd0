"""`turia sweep`: every k x segmentation x history on test sets, translated once each and scored from the traces.

The results folder:

    results.json, results.md, TEST-latency.png, TEST-k.png, ...    made anew by every run from the traces
    TEST/000.source, TEST/000.reference                            the streams of a test set, a sentence a line
    TEST/MODEL/CONFIGURATION/000.jsonl                             the trace of each stream
    TEST/MODEL/CONFIGURATION/configuration.json                    what was run: model, streams, settings
    TEST/MODEL/CONFIGURATION/cost.json                             model calls for each word, and words a second

A configuration's folder appears when all of it is done. One that says the same as what would be run is kept, so an
interrupted sweep goes on and a finished one is only scored again. Streams see the source as it is written: making it
look like recognised speech is the engine's work.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from turia.config import SweepRecipe, load_recipe
from turia.experiments.sweep.curves import check_baseline
from turia.experiments.sweep.plan import Plan, plan
from turia.experiments.sweep.results import write_results
from turia.experiments.sweep.rows import Row
from turia.experiments.sweep.scoring import published_runs, score
from turia.experiments.sweep.translation import Show, translate


@dataclass(frozen=True)
class Results:
    """A finished sweep."""

    folder: Path
    rows: list[Row]


def ready(path: Path) -> tuple[SweepRecipe, Plan]:
    """The recipe `path` and what it runs. What is missing shall be known before hours of translating."""
    recipe = load_recipe(SweepRecipe, path)
    planned = plan(recipe, path.parent)
    for test in recipe.test:
        if test.published is not None:
            published_runs(test.published)
    if recipe.baseline:
        check_baseline(planned, recipe.baseline)
    return recipe, planned


def sweep(path: Path, show: Show, processes: int = 1, fresh: bool = False) -> Results:
    """Runs the recipe `path`. `fresh` forgets what was translated before."""
    recipe, planned = ready(path)
    if fresh:
        for run in planned.runs:
            shutil.rmtree(run.folder, ignore_errors=True)
    translate(planned.runs, recipe, processes, show)
    show(1.0, "scoring")
    rows = score(planned, recipe, processes)
    write_results(rows, planned, recipe, path)
    return Results(recipe.folder, rows)
