"""The one thread that translates: it takes what is waiting, runs it as batches, stores it, and reports.

In each round every session that has inputs waiting gets at most `INPUTS_A_ROUND` of them done, so that a client that
sends a thousand words at once does not hold up the others. Nothing is reported before the store has it. A batch is of
one model: a session that changes its model goes on with the new one in the next round.

A session whose own work fails is reported as failed and harms no other. When the backend or the store fails, every
session of the round is: the streams in memory are then ahead of the store, and must be loaded again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from turia.engine.batcher import run_together
from turia.engine.model import Steps
from turia.server.messages import SettingsChange
from turia.server.session import Input, Session
from turia.server.store import Advance, Store, StoreError

INPUTS_A_ROUND = 4
log = logging.getLogger("turia.server")


@dataclass
class Task:
    """A session in the worker's hands, from the inputs that it waits with to what became of them.

    Once submitted, a task belongs to the worker. `began` is in seconds since 1970; `inputs` and `events` count what is
    stored.
    """

    id: str
    session: Session
    began: float
    inputs: int
    events: int
    token: int = 1
    """With which the session was claimed."""
    waiting: list[Input] = field(default_factory=list)
    failed: bool = False
    """Its stream is ahead of the store: whatever else is submitted for it is left undone."""


@dataclass(frozen=True)
class Done:
    """Inputs up to `inputs` are stored; these events follow event number `events_before`."""

    task: Task
    inputs: int
    events_before: int
    events: tuple[str, ...]
    ended: bool


Cause = Literal["failed", "moved", "store"]


@dataclass(frozen=True)
class Failed:
    """The session cannot go on from memory: its work failed, another server owns it, or the store is away."""

    task: Task
    cause: Cause = "failed"


Report = Callable[[Done | Failed], None]


class Worker:
    """Translates in a thread of its own. `report` is called in that thread."""

    def __init__(self, store: Store, report: Report, clock: Callable[[], float] = time.time) -> None:
        self._store, self._report, self._clock = store, report, clock
        self._arrived: queue.SimpleQueue[tuple[Task, Sequence[Input]] | None] = queue.SimpleQueue()
        self._busy: dict[str, Task] = {}
        self._thread = threading.Thread(target=self._run, name="turia-worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, task: Task, inputs: Sequence[Input]) -> None:
        """These inputs follow those submitted before."""
        self._arrived.put((task, inputs))

    def stop(self) -> None:
        """Finishes what was submitted, then ends."""
        self._arrived.put(None)
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping or self._busy:
            stopping = self._collect(stopping) or stopping
            self._round(list(self._busy.values()))

    def _collect(self, stopping: bool) -> bool:
        """Takes what has arrived, waiting for something if there is nothing to do; True when told to stop."""
        wait = not self._busy and not stopping
        while True:
            try:
                item = self._arrived.get(block=wait)
            except queue.Empty:
                return False
            if item is None:
                return True
            wait = False
            task, inputs = item
            if not task.failed:
                task.waiting.extend(inputs)
                self._busy[task.id] = task

    def _round(self, tasks: Sequence[Task]) -> None:
        """A few inputs of every session that has some."""
        # All groups are made before the first works: a session may have another model afterwards.
        groups: dict[str, list[Task]] = {}
        for task in tasks:
            groups.setdefault(task.session.model.name, []).append(task)
        for group in groups.values():
            try:
                self._batch(group)
            except StoreError:
                log.warning("the store does not answer: %d sessions wait for it", len(group))
                for task in group:
                    self._fail(task, "store")
            except Exception:
                # The thread must outlive whatever the model or the disk does: everybody else's captions hang on it.
                log.exception("a batch of %d sessions failed", len(group))
                for task in group:
                    self._fail(task)

    def _batch(self, tasks: Sequence[Task]) -> None:
        portions = [_portion(task.waiting) for task in tasks]
        backend = tasks[0].session.model.backend
        work = [_guarded(task, portion, self._clock) for task, portion in zip(tasks, portions, strict=True)]
        results = run_together(work, backend)
        now = self._clock()
        ready = [
            (task, portion, tuple(events), task.session.ended)
            for task, portion, events in zip(tasks, portions, results, strict=True)
            if events is not None
        ]
        taken = self._store.advance(
            [
                Advance(
                    task.id,
                    task.token,
                    task.inputs,
                    portion[-1].seq,
                    task.events,
                    events,
                    ended,
                    task.session.state(),
                    now,
                )
                for task, portion, events, ended in ready
            ]
        )
        for task, events in zip(tasks, results, strict=True):
            if events is None:
                self._fail(task)
        for (task, portion, new, ended), stored in zip(ready, taken, strict=True):
            if not stored:
                log.warning("session %s was continued by another server", task.id)
                self._fail(task, "moved")
                continue
            before = task.events
            task.inputs, task.events = portion[-1].seq, before + len(new)
            del task.waiting[: len(portion)]
            if not task.waiting:
                del self._busy[task.id]
            self._report(Done(task, task.inputs, before, new, ended))

    def _fail(self, task: Task, cause: Cause = "failed") -> None:
        task.failed = True
        del self._busy[task.id]
        self._report(Failed(task, cause))


def _portion(waiting: Sequence[Input]) -> list[Input]:
    """What is done of these in one round: nothing after a change of the model, whose backend is not the batch's."""
    portion = list(waiting[:INPUTS_A_ROUND])
    for count, item in enumerate(portion, start=1):
        if isinstance(item, SettingsChange) and item.model is not None:
            return portion[:count]
    return portion


def _guarded(task: Task, inputs: Sequence[Input], clock: Callable[[], float]) -> Steps[list[str] | None]:
    """The work of one session; None where it failed."""
    try:
        return (yield from task.session.apply(inputs, lambda: 1000 * (clock() - task.began)))
    except Exception as error:
        # The text of an error may hold what was said; its kind does not.
        log.error("session %s failed: %s", task.id, type(error).__name__)
        return None
