"""Writes what a sweep found: results.json, results.md, and the plots of quality against latency."""

from __future__ import annotations

import json
import platform
import re
import tomllib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from turia import __version__
from turia.config import SweepRecipe, file_name
from turia.experiments.sweep.curves import VARIED
from turia.experiments.sweep.plan import Plan
from turia.experiments.sweep.rows import Row, columns, regime_columns, settings_of
from turia.runtime.folder import SHORT_SUM
from turia.system.files import write_file

VERSIONED = ("numpy", "onnxruntime", "sacrebleu", "sentencepiece", "rapidfuzz")
"""Packages whose versions could change a figure."""


def write_results(rows: Sequence[Row], planned: Plan, recipe: SweepRecipe, path: Path) -> None:
    """results.json, results.md and the plots of every test set. No path of this machine is in them."""
    command = f"turia sweep {path.name}"
    models = planned.models + planned.bounds
    data = {
        "command": command,
        "recipe": tomllib.loads(path.read_text(encoding="utf-8")),
        "versions": {"turia": __version__, "python": platform.python_version()}
        | {name: version(name) for name in VERSIONED},
        "machine": f"{platform.system()} {platform.machine()}",
        "models": [{"name": model.name, "sha256": model.sha256} for model in models],
        "tests": [
            {
                "name": test.name,
                "streams": len(test.sources),
                "sentences": test.sentences,
                "source_words": test.source_words,
                "sha256": test.sha256,
            }
            for test in planned.tests
        ],
        "results": [row.as_json() for row in rows],
    }
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(recipe.folder / "results.json", text)
    write_file(recipe.folder / "results.md", markdown(rows, planned, command, recipe.regimes))
    for test in planned.tests:
        own = [row for row in rows if row.test == test.name]
        draw(own, recipe.folder / file_name(test.name), recipe.dal_scale, recipe.regimes)


def draw(rows: Sequence[Row], stem: Path, dal_scale: float, regimes: Sequence[float] = ()) -> list[Path]:
    """BLEU against latency and against k, of one test set; what was not hurried is a line."""
    # Here, not above: the processes that score import this module too, and need no matplotlib.
    from turia.evaluation.plots import Bound, Point, bleu_against_k, bleu_against_latency, save

    # A curve of wait-k is labelled with k.
    labels = {row.curve: [one.point for one in rows if one.curve == row.curve and one.k is None] for row in rows}
    varied = {curve: varied_parameters(own) for curve, own in labels.items()}
    names = {curve: f"{curve} ({', '.join(own)})" if own else curve for curve, own in varied.items()}
    points = [
        Point(
            names[row.curve],
            row.k,
            row.report.value("BLEU"),
            row.report.value("AL"),
            row.report.value("DAL"),
            short_label(row.point, varied[row.curve]),
        )
        for row in rows
        if not row.offline
    ]
    if not points:
        return []
    systems = {row.system for row in rows if row.ours and not row.offline}
    # The first curve of each system, if there are several: its bound has the same colour.
    curves = {row.system: names[row.curve] for row in reversed(rows) if not row.offline} if len(systems) > 1 else {}
    bounds = [Bound(row.curve, row.report.value("BLEU"), curves.get(row.system, "")) for row in rows if row.offline]
    compared = sorted({row.curve for row in rows if not row.ours})
    title = plot_title(rows)
    latency = bleu_against_latency(points, bounds, compared, title, dal_scale, regimes)
    paths = save(latency, stem.with_name(f"{stem.name}-latency"))
    if any(point.k is not None for point in points):
        paths += save(bleu_against_k(points, bounds, compared, title), stem.with_name(f"{stem.name}-k"))
    return paths


def varied_parameters(points: Sequence[str]) -> list[str]:
    """The parameters in which points of a curve differ: their values are enough beside each of them.

    None if there is a single point, or if the points do not have the same parameters.
    """
    values = [_parameters(point) for point in points]
    if len(values) < 2 or any(one.keys() != values[0].keys() for one in values):
        return []
    return [name for name in values[0] if len({one[name] for one in values}) > 1]


def short_label(point: str, varied: Sequence[str]) -> str:
    """The values of these parameters; the whole text if there are none."""
    values = _parameters(point)
    return ", ".join(values[name] for name in varied) if varied else point


def _parameters(point: str) -> dict[str, str]:
    """`threshold=0.3,delay=1` → each parameter's value; of a text that has none, nothing."""
    return dict(part.split("=", 1) for part in point.split(",")) if "=" in point else {}


def plot_title(rows: Sequence[Row]) -> str:
    """The test set, and the history of our curves if it is one: several are in the names of the curves."""
    histories = {row.details["history"] for row in rows if row.ours and not row.offline}
    return rows[0].test + (f", h = {histories.pop()}" if len(histories) == 1 else "")


def markdown(rows: Sequence[Row], planned: Plan, command: str, regimes: Sequence[float] = ()) -> str:
    """The results as a page: tables for each test set, then what the figures were computed with."""
    models = ", ".join(f"{model.name} (`{model.sha256[:SHORT_SUM]}`)" for model in planned.models + planned.bounds)
    lines = [f"Made by `{command}`. Models: {models}."]
    for test in planned.tests:
        own = [row for row in rows if row.test == test.name]
        streams = "one stream" if len(test.sources) == 1 else f"{len(test.sources)} streams"
        counts = f"{test.sentences:,} sentences, {test.source_words:,} source words, {streams}"
        lines += ["", f"## {test.name}", "", counts + ".", "", *_table(*columns(own))]
        if regimes:
            lines += [
                "",
                "The best BLEU of each curve within a range of AL:",
                "",
                *_table(*regime_columns(settings_of(own), regimes)),
            ]
        lines += ["", *(f"    {signature}" for signature in signatures(own))]
    return "\n".join(lines) + "\n"


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {' | '.join(row)} |" for row in cells)]


def signatures(rows: Sequence[Row]) -> list[str]:
    """What the rows' figures were computed with, each said once; what a table has a column or a curve for is not."""
    varied = [name for name, value in VARIED.items() if _differs(rows, value)]
    if len({row.system for row in rows if row.ours}) > 1:
        varied.append("files")
    told = "|".join(["k", "w", "segmenter", "policy", *varied])
    # Whole sentences have no rounding; all else of their signature is as the others have it.
    hurried = [row for row in rows if not row.offline] or rows
    found = {re.sub(rf"\|({told}):[^|]*", "", row.report.signature): None for row in hurried}
    scores = {f"{figure.name}|{figure.signature}": None for row in rows for figure in row.report.signed()}
    return [*found, *scores]


def _differs(rows: Sequence[Row], setting: str) -> bool:
    return len({row.details[setting] for row in rows if setting in row.details}) > 1
