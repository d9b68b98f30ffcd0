"""Scores the traces of a sweep, and what others have published, by the evaluation of `turia evaluate`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from turia.config import Published, SweepRecipe
from turia.errors import FormatError
from turia.evaluation.inputs import load_streams, read_lines, sentences_from_trace
from turia.evaluation.options import Convention, EvaluationOptions
from turia.evaluation.report import evaluate
from turia.evaluation.units import words_of_tokens
from turia.experiments.sweep.curves import curves_of
from turia.experiments.sweep.plan import Plan, Run
from turia.experiments.sweep.rows import Row
from turia.experiments.sweep.significance import tested_at_equal_k, tested_at_equal_latency
from turia.policy.table import POLICIES
from turia.policy.waitk import WaitK
from turia.runtime.folder import SHORT_SUM
from turia.stream.trace import Note, parse_trace
from turia.system.processes import in_processes

_PUBLISHED_RUN = re.compile(r"w([0-9]+)_k([0-9]+)")


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


def tested(rows: Sequence[Row], planned: Plan, recipe: SweepRecipe) -> list[Row]:
    """The rows with what the tests against the baseline gave."""
    references = {test.name: [line for path in test.references for line in read_lines(path)] for test in planned.tests}
    test = tested_at_equal_latency if recipe.baseline in POLICIES else tested_at_equal_k
    return test(rows, recipe.baseline, references, recipe.resamples)


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
        policy.k if isinstance(policy, WaitK) and policy.gamma is None and target is None else None,
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
