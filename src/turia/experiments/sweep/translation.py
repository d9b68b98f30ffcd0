"""Translates the runs of a sweep, spread over processes; each leaves a folder with its traces."""

from __future__ import annotations

import json
import multiprocessing
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from turia.config import SweepRecipe
from turia.engine.stream import Stream
from turia.evaluation.inputs import read_lines
from turia.experiments.cost import Cost, time_alone
from turia.experiments.jobs import Job, translate_all
from turia.experiments.sweep.configurations import Configuration
from turia.experiments.sweep.plan import COST_FILE, Run
from turia.runtime.translator import Translator
from turia.segmenter.online import BlockSegmenter, FreeSegmenter, GivenSegmenter, Segmenter
from turia.segmenter.stream_classifier import AnyClassifier, load_classifier
from turia.stream.trace import Trace, trace_lines
from turia.system.files import replacing
from turia.system.processes import in_processes

Show = Callable[[float, str], None]


@dataclass(frozen=True)
class _SweepTask:
    """Runs of one model that a process translates together."""

    runs: tuple[Run, ...]
    together: int
    timed_words: int
    """Source words that each run translates once more, alone, to measure its speed."""
    words_read: Any
    """A queue of `int`, to which progress goes."""


def _translate_task(task: _SweepTask) -> tuple[Run, ...]:
    model = task.runs[0].model
    reverses = any(run.configuration.free == "reverse" for run in task.runs)
    translator = Translator.load(model.folder, reverse_model=model.reverse if reverses else None)
    jobs = [_job(translator, run.configuration, read_lines(source)) for run in task.runs for source in run.test.sources]
    traces = translate_all(jobs, translator.model.backend, task.together, task.words_read.put)
    for number, run in enumerate(task.runs):
        own = slice(number * len(run.test.sources), (number + 1) * len(run.test.sources))
        _save(run, traces[own], _cost(translator, jobs[own], task.timed_words))
    return task.runs


def _cost(translator: Translator, jobs: Sequence[Job], timed_words: int) -> Cost:
    """Calls of all streams; seconds for so many words of the first one."""
    meters = [job.meter for job in jobs]
    words = sum(len(job.words) for job in jobs)
    every = Cost(
        words, sum(one.calls for one in meters), sum(one.requests for one in meters), sum(one.rows for one in meters)
    )
    if not timed_words:
        return every
    alone = time_alone(jobs[0].begin(), translator.model.backend, jobs[0].words[:timed_words])
    assert alone.seconds is not None
    return replace(every, seconds=alone.seconds / alone.words * words)


def _job(translator: Translator, configuration: Configuration, sentences: Sequence[str]) -> Job:
    lengths = [len(line.split()) for line in sentences]

    def begin() -> Stream:
        segmenter: Segmenter | None = None
        if configuration.block is not None:
            segmenter = BlockSegmenter(configuration.block)
        elif configuration.free is not None:
            segmenter = FreeSegmenter(configuration.free)
        elif configuration.window is None:
            segmenter = GivenSegmenter(lengths)
        elif configuration.threshold is not None:
            classifier = _classifier(translator.folder, configuration.window)
            segmenter = classifier.segmenter(decision=replace(classifier.decision, threshold=configuration.threshold))
        return translator.stream(
            policy=configuration.policy,
            gamma=configuration.gamma,
            window=configuration.window or 0,
            history=configuration.history,
            encoding=configuration.encoding,
            recompute=configuration.recompute,
            beam=configuration.beam,
            max_lag=configuration.max_lag,
            target_lag=configuration.target_lag,
            glossary=configuration.glossary,
            segmenter=segmenter,
        )

    return Job(begin, [word for line in sentences for word in line.split()])


@lru_cache(maxsize=4)
def _classifier(folder: Path, window: int) -> AnyClassifier:
    return load_classifier(folder, window)


def _save(run: Run, traces: Sequence[Trace], cost: Cost) -> None:
    """The run's folder, which appears when it is complete."""
    with replacing(run.folder) as new:
        new.mkdir()
        for path, trace in zip(run.traces(), traces, strict=True):
            lines = "".join(f"{line}\n" for line in trace_lines(trace))
            (new / path.name).write_text(lines, encoding="utf-8", newline="\n")
        described = json.dumps(run.description(), indent=1) + "\n"
        (new / "configuration.json").write_text(described, encoding="utf-8")
        (new / COST_FILE).write_text(json.dumps(cost.as_json()) + "\n", encoding="utf-8")


def translate(runs: Sequence[Run], recipe: SweepRecipe, processes: int, show: Show) -> None:
    """Translates the runs that are not done yet; each leaves its folder."""
    waiting = [run for run in runs if not run.is_done()]
    total = sum(run.test.source_words for run in waiting)
    if not waiting:
        return
    with _progress(total, processes, show) as words_read:
        groups = _groups(waiting, recipe.batch, processes)
        tasks = [_SweepTask(group, recipe.batch, recipe.timed_words, words_read) for group in groups]
        for done in in_processes(_translate_task, tasks, min(processes, len(tasks))):
            assert all(run.is_done() for run in done)


def _groups(runs: Sequence[Run], batch: int, processes: int) -> Iterator[tuple[Run, ...]]:
    """Runs of one model in groups that fill a batch, unless processes would then be idle."""
    by_model: dict[str, list[Run]] = {}
    for run in runs:
        by_model.setdefault(run.model.name, []).append(run)
    for own in by_model.values():
        rest = deque(own)
        share = -(-len(own) // processes)
        while rest:
            size = min(share, -(-batch // len(rest[0].test.sources)))
            yield tuple(rest.popleft() for _ in range(min(size, len(rest))))


@contextmanager
def _progress(total: int, processes: int, show: Show) -> Iterator[Any]:
    """A queue for numbers of source words read, from this process or others; a thread shows them as they come."""
    manager = multiprocessing.get_context("spawn").Manager() if processes > 1 else None
    words_read: Any = queue.Queue() if manager is None else manager.Queue()

    def follow() -> None:
        done, shown = 0, -1
        # After an interrupt the queue's process may be gone.
        with suppress(EOFError, OSError):
            while (words := words_read.get()) is not None:
                done += words
                # On no terminal every update is a line: a hundred of them are enough.
                if shown < (percent := 100 * done // total):
                    shown = percent
                    show(done / total, f"{done:,} of {total:,} source words")

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield words_read
    finally:
        with suppress(EOFError, OSError):
            words_read.put(None)
        thread.join()
        if manager is not None:
            manager.shutdown()
