"""Work spread over a Ray cluster by Ray Data: what `in_processes` does on one machine.

Rules: the same functions, the same tasks, results in the same order; so the same bytes. Tasks write files, so the
data folder and the corpora must lie where every node finds them under the same path. A task that dies with its node is
done again on another: files appear whole, by renaming.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import ray
import ray.data

from turia.system.processes import Result, Task

TASKS_PER_CORE = 8
"""Drawn at once, so that memory stays small however long the corpus is."""


def on_ray(work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Results in the order of `tasks`; this process is connected to a cluster."""
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    wave_size = TASKS_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = iter(tasks)
    while wave := list(islice(waiting, wave_size)):
        rows = [{"task": pickle.dumps(task)} for task in wave]
        done = ray.data.from_items(rows, override_num_blocks=len(rows)).map(_Work(work))
        for row in done.iter_rows():
            result = pickle.loads(row["result"])
            if isinstance(result, _Failure):
                raise result.error
            yield result


class _Failure:
    """An error of the work itself, which is raised again where the results are read, as it would be locally."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Work:
    """One row for Ray Data: a task in, its result out."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        try:
            result = self._work(pickle.loads(row["task"]))
        except Exception as error:
            result = _Failure(error)
        return {"result": pickle.dumps(result)}
