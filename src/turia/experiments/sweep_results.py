"""What a sweep found: its traces scored, as results.json, a table, and the plots of quality against latency.

Everything here is made from the traces alone (and from somebody else's logs, where a recipe names some), by the same
evaluation as `turia evaluate`.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from turia import __version__
from turia.config import Published, SweepRecipe, file_name, load_recipe
from turia.errors import FormatError, InputError
from turia.evaluation.inputs import load_streams, read_lines, sentences_from_trace
from turia.evaluation.options import Convention, EvaluationOptions
from turia.evaluation.report import Report, evaluate
from turia.evaluation.units import words_of_tokens
from turia.experiments.significance import tested_at_equal_k, tested_at_equal_latency
from turia.experiments.sweep import Configuration, Plan, Run, Show, plan, translate
from turia.policy.table import POLICIES
from turia.policy.waitk import WaitK
from turia.runtime.folder import SHORT_SUM
from turia.stream.trace import Note, parse_trace
from turia.system.files import write_file
from turia.system.processes import in_processes

VERSIONED = ("numpy", "onnxruntime", "sacrebleu", "sentencepiece", "rapidfuzz")
"""Packages whose versions could change a figure."""
VARIED = {"h": "history", "encoding": "encoding", "recompute": "recompute", "beam": "beam"}
"""Settings that are in a curve's name where the curves differ in them, by their names in signatures."""
_PUBLISHED_RUN = re.compile(r"w(\d+)_k(\d+)")


@dataclass(frozen=True)
class Row:
    """One scored configuration: a row of the table and a point of a plot."""

    test: str
    system: str
    """The model, or whose outputs they are."""
    curve: str
    segments: str
    k: int | None
    """Of wait-k; other policies have none."""
    report: Report
    words: int
    """Target words written."""
    reference_words: int
    ours: bool = True
    offline: bool = False
    point: str = ""
    """The parameters of another policy than wait-k, as people type them."""
    details: dict[str, Any] = field(default_factory=dict)
    """What else is known of the run, for results.json."""
    p_value: float | None = None
    """How likely its difference in BLEU from the baseline would be by chance; None where that was not tested."""
    difference: float | None = None
    """In BLEU from the baseline at the same AL, where that was tested."""

    def as_json(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "system": self.system,
            "curve": self.curve,
            "segments": self.segments,
            "k": self.k,
            "offline": self.offline,
            **self.report.as_json(),
            "words": self.words,
            "reference_words": self.reference_words,
            **({} if self.p_value is None else {"BLEU_p": self.p_value}),
            **({} if self.difference is None else {"BLEU_difference": self.difference}),
            **self.details,
        }

    def cells(self) -> list[str]:
        """For the table; see COLUMNS."""
        report = self.report
        return [
            self.curve,
            "all" if self.offline else self.point if self.k is None else str(self.k),
            report.figure("BLEU").shown(decimals=1) + _chance(self.p_value, self.difference),
            report.figure("chrF").shown(decimals=1),
            report.figure("AP").shown(decimals=2),
            report.figure("AL").shown(decimals=1),
            report.figure("DAL").shown(decimals=1),
            _shown(report.group("longyaal").get("LongYAAL")),
            f"{self.words / self.reference_words:.2f}",
            str(report.empty),
            _shown(self.details.get("calls_per_word")),
            _shown(self.details.get("words_per_second"), decimals=0),
        ]


COLUMNS = (
    "curve", "k", "BLEU", "chrF", "AP", "AL", "DAL", "LongYAAL", "length", "empty", "calls/word", "words/s",
)  # fmt: skip


def _shown(value: float | None, decimals: int = 1) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _chance(p_value: float | None, difference: float | None) -> str:
    if p_value is None:
        return ""
    return f" (p = {p_value:.3f})" if difference is None else f" ({difference:+.1f}, p = {p_value:.3f})"


def columns(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, and its cells. What was not measured has no column; calls are for who compares policies."""
    timed = any("words_per_second" in row.details for row in rows)
    shown = {
        "LongYAAL": any(row.report.group("longyaal") for row in rows),
        "calls/word": timed or any(row.k is None and row.ours and not row.offline for row in rows),
        "words/s": timed,
    }
    places = [place for place, name in enumerate(COLUMNS) if shown.get(name, True)]
    return [COLUMNS[place] for place in places], [[row.cells()[place] for place in places] for row in rows]


@dataclass(frozen=True)
class Results:
    """A finished sweep."""

    folder: Path
    rows: list[Row]


def sweep(path: Path, show: Show, processes: int = 1, fresh: bool = False) -> Results:
    """Runs the recipe `path`. `fresh` forgets what was translated before."""
    recipe = load_recipe(SweepRecipe, path)
    planned = plan(recipe, path.parent)
    for test in recipe.test:
        if test.published is not None:
            published_runs(test.published)  # what is missing shall be known before hours of translating
    if recipe.baseline:
        check_baseline(planned, recipe.baseline)
    if fresh:
        for run in planned.runs:
            shutil.rmtree(run.folder, ignore_errors=True)
    translate(planned.runs, recipe, processes, show)
    show(1.0, "scoring")
    rows = score(planned, recipe, processes)
    write_results(rows, planned, recipe, path)
    return Results(recipe.folder, rows)


# --- scoring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ScoreTask:
    run: Run
    curve: str
    options: EvaluationOptions
    sentences: bool = False
    """Each sentence is measured by itself."""


def score(planned: Plan, recipe: SweepRecipe, processes: int) -> list[Row]:
    """The rows of all runs, and of what others have published."""
    options = _options(recipe, planned.models[0].target_language)
    curves = curves_of(planned)
    by_sentence = recipe.latency == "sentence"
    tasks = [_ScoreTask(run, curve, options, by_sentence) for run, curve in zip(planned.runs, curves, strict=True)]
    rows = list(in_processes(_score_run, tasks, min(processes, len(tasks))))
    languages = (planned.models[0].source_language, planned.models[0].target_language)
    for test in recipe.test:
        if test.published is not None:
            rows += score_published(test.name, test.published, recipe, languages, processes)
    return tested(rows, planned, recipe) if recipe.baseline else rows


def _options(recipe: SweepRecipe, language: str) -> EvaluationOptions:
    conventions = tuple(map(Convention, recipe.conventions))
    return EvaluationOptions(recipe.dal_scale, language=language, latency=conventions, resamples=recipe.resamples)


def curves_of(planned: Plan) -> list[str]:
    """The curve of each run; bounds have their model's name, and their beam where not all runs have it."""
    names = curve_names([run.configuration for run in planned.runs if run.model not in planned.bounds])
    many = len(planned.models) > 1
    beams = len({run.configuration.beam for run in planned.runs}) > 1
    return [
        run.model.name + (f", {_search(run.configuration)}" if beams else "")
        if run.model in planned.bounds
        else (f"{run.model.name}, " if many else "") + names[run.configuration]
        for run in planned.runs
    ]


def check_baseline(planned: Plan, baseline: str) -> None:
    curves = dict.fromkeys(
        curve for run, curve in zip(planned.runs, curves_of(planned), strict=True) if not run.configuration.offline
    )
    policies = dict.fromkeys(run.configuration.policy.name for run in planned.runs if not run.configuration.offline)
    if baseline not in {**curves, **policies}:
        known = "; ".join({**curves, **policies})
        raise InputError(f"baseline is {baseline!r}, expected one of the curves or policies: {known}")


def tested(rows: Sequence[Row], planned: Plan, recipe: SweepRecipe) -> list[Row]:
    """The rows with what the tests against the baseline gave."""
    references = {test.name: [line for path in test.references for line in read_lines(path)] for test in planned.tests}
    test = tested_at_equal_latency if recipe.baseline in POLICIES else tested_at_equal_k
    return test(rows, recipe.baseline, references, recipe.resamples)


def curve_names(chosen: Sequence[Configuration]) -> dict[Configuration, str]:
    """The curve that each is a point of: its segments, and whatever else is not the same for all."""
    differing = {
        name for name in VARIED.values() if len({getattr(configuration, name) for configuration in chosen}) > 1
    }
    one_segmentation = len({configuration.segments for configuration in chosen}) == 1
    several_policies = len({one.policy.name for one in chosen if not one.offline}) > 1

    def name(one: Configuration) -> str:
        segments = "oracle segments" if one.window is None else f"w = {one.window}"
        if one.block is not None:
            segments = f"blocks of {one.block} words"
        if one.offline:
            segments = "whole sentences"
        parts = [] if one_segmentation and not one.offline and (differing or several_policies) else [segments]
        if several_policies and not one.offline:
            parts.append(one.policy.name)
        if one.target_lag is not None:
            parts.append("kept lag")
        if "history" in differing:
            parts.append(f"h = {one.history}")
        if "encoding" in differing:
            parts.append(one.encoding)
        if "recompute" in differing:
            parts.append("recomputed" if one.recompute else "cached")
        if "beam" in differing:
            parts.append(_search(one))
        return ", ".join(parts)

    return {configuration: name(configuration) for configuration in chosen}


def _search(configuration: Configuration) -> str:
    return "greedy" if configuration.beam == 1 else f"beam {configuration.beam}"


def _score_run(task: _ScoreTask) -> Row:
    run = task.run
    files_of_run = run.test.sources, run.test.references, run.traces()
    if task.sentences:
        loaded = [one for paths in zip(*files_of_run, strict=True) for one in sentences_from_trace(*paths)]
    else:
        loaded = load_streams(*files_of_run)
    # Traces of older releases do not say which files they are of; their configuration.json does.
    model_files = run.model.sha256[:SHORT_SUM]
    streams = [replace(stream, settings={**stream.settings, "files": model_files}) for stream in loaded]
    notes = Counter(
        record.kind
        for trace in run.traces()
        for record in parse_trace(read_lines(trace), str(trace)).records
        if isinstance(record, Note)
    )
    policy, target = run.configuration.policy, run.configuration.target_lag
    details: dict[str, Any] = run.configuration.as_json()
    root = run.test.folder.parent
    details |= run.cost()
    details |= {"notes": dict(notes), "trace": run.folder.relative_to(root).as_posix()}
    if len(streams) == 1:
        files = (("source", run.test.sources), ("reference", run.test.references), ("trace", run.traces()))
        options = " ".join(f"--{name} {paths[0].relative_to(root).as_posix()}" for name, paths in files)
        details["command"] = f"turia evaluate {options} --dal-scale {task.options.dal_scale:g}"
    return Row(
        run.test.name,
        run.model.name,
        task.curve,
        run.configuration.segments,
        policy.k if isinstance(policy, WaitK) and target is None else None,
        evaluate(streams, task.options),
        sum(len(stream.words) for stream in streams),
        sum(len(line.split()) for stream in streams for line in stream.references),
        offline=run.configuration.offline,
        point=str(policy).partition(":")[2] if target is None else f"lag {target}",
        details=details,
    )


@dataclass(frozen=True)
class _PublishedTask:
    test: str
    published: Published
    window: int
    k: int
    folder: Path
    languages: tuple[str, str]
    options: EvaluationOptions


def score_published(
    test: str, published: Published, recipe: SweepRecipe, languages: tuple[str, str], processes: int
) -> list[Row]:
    """The rows of every folder wW_kK of somebody else's outputs, in words as ours are."""
    options = _options(recipe, languages[1])
    tasks = [
        _PublishedTask(test, published, window, k, folder, languages, options)
        for window, k, folder in published_runs(published)
    ]
    return list(in_processes(_score_published_run, tasks, min(processes, len(tasks))))


def _score_published_run(task: _PublishedTask) -> Row:
    above, (source, target) = task.published.folder, task.languages
    hypothesis = task.folder / f"hypothesis.{target}"
    (stream,) = load_streams(
        [above / f"source.{source}"],
        [above / f"reference.{target}"],
        hypotheses=[hypothesis],
        actions=[task.folder / "actions"],
    )
    if task.published.unit == "moses":
        lines = [line.split() for line in read_lines(hypothesis, may_be_blank=True)]
        words, delays = words_of_tokens(lines, stream.delays, target)
        stream = replace(stream, words=words, delays=delays)
    return Row(
        task.test,
        task.published.name,
        f"{task.published.name}, w = {task.window}",
        f"w{task.window}",
        task.k,
        evaluate([stream], task.options),
        len(stream.words),
        sum(len(line.split()) for line in stream.references),
        ours=False,
        details={"window": task.window},
    )


def published_runs(published: Published) -> list[tuple[int, int, Path]]:
    """w, k and folder of each."""
    folder = published.folder
    found = sorted(
        (int(match[1]), int(match[2]), path)
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := _PUBLISHED_RUN.fullmatch(path.name))
    )
    if not found:
        raise FormatError("expected folders wW_kK, each with a hypothesis and its actions", folder)
    return found


# --- writing ----------------------------------------------------------------------------------------------------------


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
    write_file(recipe.folder / "results.md", markdown(rows, planned, command))
    for test in planned.tests:
        own = [row for row in rows if row.test == test.name]
        draw(own, recipe.folder / file_name(test.name), recipe.dal_scale)


def draw(rows: Sequence[Row], stem: Path, dal_scale: float) -> list[Path]:
    """BLEU against latency and against k, of one test set; what was not hurried is a line."""
    # Here, not above: the processes that score import this module too, and need no matplotlib.
    from turia.evaluation.plots import Bound, Point, bleu_against_k, bleu_against_latency, save

    points = [
        Point(row.curve, row.k, row.report.value("BLEU"), row.report.value("AL"), row.report.value("DAL"), row.point)
        for row in rows
        if not row.offline
    ]
    if not points:
        return []
    systems = {row.system for row in rows if row.ours and not row.offline}
    # The first curve of each system, if there are several: its bound has the same colour.
    curves = {row.system: row.curve for row in reversed(rows) if not row.offline} if len(systems) > 1 else {}
    bounds = [Bound(row.curve, row.report.value("BLEU"), curves.get(row.system, "")) for row in rows if row.offline]
    compared = sorted({row.curve for row in rows if not row.ours})
    title = plot_title(rows)
    latency = bleu_against_latency(points, bounds, compared, title, dal_scale)
    paths = save(latency, stem.with_name(f"{stem.name}-latency"))
    if any(point.k is not None for point in points):
        paths += save(bleu_against_k(points, bounds, compared, title), stem.with_name(f"{stem.name}-k"))
    return paths


def plot_title(rows: Sequence[Row]) -> str:
    """The test set, and the history of our curves if it is one: several are in the names of the curves."""
    histories = {row.details["history"] for row in rows if row.ours and not row.offline}
    return rows[0].test + (f", h = {histories.pop()}" if len(histories) == 1 else "")


def markdown(rows: Sequence[Row], planned: Plan, command: str) -> str:
    """The results as a page: a table for each test set, then what the figures were computed with."""
    models = ", ".join(f"{model.name} (`{model.sha256[:SHORT_SUM]}`)" for model in planned.models + planned.bounds)
    lines = [f"Made by `{command}`. Models: {models}."]
    for test in planned.tests:
        own = [row for row in rows if row.test == test.name]
        streams = "one stream" if len(test.sources) == 1 else f"{len(test.sources)} streams"
        counts = f"{test.sentences:,} sentences, {test.source_words:,} source words, {streams}"
        heads, cells = columns(own)
        lines += ["", f"## {test.name}", "", counts + ".", "", f"| {' | '.join(heads)} |"]
        lines.append("|" + "---|" * len(heads))
        lines += [f"| {' | '.join(row)} |" for row in cells]
        lines += ["", *(f"    {signature}" for signature in signatures(own))]
    return "\n".join(lines) + "\n"


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


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """The same tables for a terminal."""
    for test in dict.fromkeys(row.test for row in rows):
        drawn = Table(title=test, box=box.SIMPLE_HEAD)
        heads, cells = columns([row for row in rows if row.test == test])
        for name in heads:
            drawn.add_column(name, justify="left" if name == "curve" else "right", no_wrap=name == "curve")
        for row in cells:
            drawn.add_row(*row)
        yield drawn
