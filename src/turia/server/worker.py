"""The one thread that translates: it takes what is waiting, runs it as batches, stores it, and reports.

In each round every session that has inputs waiting gets at most `INPUTS_PER_ROUND` of them done, so that a client that
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
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from turia.engine.backend import Steps
from turia.engine.batcher import run_together
from turia.engine.tail import Tentative
from turia.protocol.events import EVENTS, Event
from turia.server.captions import Captions, Input, Tail, change_in
from turia.server.lag import Lag
from turia.server.logs import alias
from turia.server.progress import Progress
from turia.server.stores.base import DamagedError, SessionUpdate, Store, StoreError
from turia.server.tracebacks import described

INPUTS_PER_ROUND = 4
log = logging.getLogger("turia.server")


@dataclass(eq=False)
class Task:
    """The captions of a session in the worker's hands. Once submitted, a task belongs to the worker."""

    session_id: str
    captions: Captions
    began: float
    """When the session began, in seconds since 1970."""
    token: int = 1
    """With which the session was claimed."""
    waiting: list[Input] = field(default_factory=list)
    failed: bool = False
    """Its captions are ahead of the store: whatever else is submitted for it is left undone."""

    def __post_init__(self) -> None:
        self.lag = Lag(self.captions)
        self.chosen = self.captions.choice
        """The settings as all inputs leave them that were submitted. Not the worker's, but of those who submit."""


@dataclass(frozen=True)
class Done:
    """A task is stored up to `progress`; these events are new."""

    task: Task
    progress: Progress
    events: tuple[Event, ...]
    tentative: Tentative | None = None
    """What may still change, behind these events."""
    lags: tuple[int, ...] = ()
    """Of each target word among these events, in words."""


Cause = Literal["failed", "moved", "store", "damaged"]


@dataclass(frozen=True)
class Failed:
    """The task cannot go on: its work failed, another server has the session, or the store fails or is damaged."""

    task: Task
    cause: Cause = "failed"


Report = Callable[[Done | Failed], None]
Chore = Callable[[], None]
"""Short work of the server's own with the models, which only this thread may use."""


@dataclass(frozen=True)
class _Result:
    """What became of the inputs of a task in one round."""

    task: Task
    inputs: int
    """How many were done."""
    events: tuple[Event, ...]
    update: SessionUpdate
    tentative: Tentative | None


class Worker:
    """Translates in a thread of its own. `report` is called in that thread."""

    def __init__(self, store: Store, report: Report, clock: Callable[[], float] = time.time) -> None:
        self._store, self._report, self._clock = store, report, clock
        self._arrived: queue.SimpleQueue[tuple[Task, Sequence[Input]] | Chore | None] = queue.SimpleQueue()
        self._chores: deque[Chore] = deque()
        self._busy: dict[str, Task] = {}
        self._thread = threading.Thread(target=self._run, name="turia-worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, task: Task, inputs: Sequence[Input]) -> None:
        """Submits inputs, which follow those submitted before."""
        self._arrived.put((task, inputs))

    def do_when_idle(self, chore: Chore) -> None:
        """Does a chore when no session waits. Chores that are left when the worker stops are not done."""
        self._arrived.put(chore)

    def stop(self) -> None:
        """Finishes what was submitted, then ends."""
        self._arrived.put(None)
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping or self._busy:
            stopping = self._collect(stopping) or stopping
            self._round(list(self._busy.values()))
            if self._chores and not self._busy:
                self._do(self._chores.popleft())

    def _collect(self, stopping: bool) -> bool:
        """Takes what has arrived, waiting for something if there is nothing to do; True when it is to stop."""
        wait = not self._busy and not self._chores and not stopping
        while True:
            try:
                item = self._arrived.get(block=wait)
            except queue.Empty:
                return False
            if item is None:
                return True
            wait = False
            if not isinstance(item, tuple):
                self._chores.append(item)
                continue
            task, inputs = item
            if not task.failed:
                if task.waiting and isinstance(task.waiting[-1], Tail):
                    # Revised, or final by now.
                    del task.waiting[-1]
                task.waiting.extend(inputs)
                self._busy[task.session_id] = task

    def _do(self, chore: Chore) -> None:
        try:
            chore()
        except Exception:
            # As in `_round`: the thread must outlive it.
            log.exception("a measurement failed")

    def _round(self, tasks: Sequence[Task]) -> None:
        """Does a few inputs of every session that has some."""
        # All groups are made before the first works: a session may have another model afterwards.
        groups: dict[str, list[Task]] = {}
        for task in tasks:
            groups.setdefault(task.captions.model.name, []).append(task)
        for group in groups.values():
            try:
                self._batch(group)
            except DamagedError:
                log.error("the store is damaged: %d sessions cannot go on", len(group))
                for task in group:
                    self._fail(task, "damaged")
            except StoreError:
                log.warning("the store does not answer: %d sessions wait for it", len(group))
                for task in group:
                    self._fail(task, "store")
            except Exception as error:
                # The thread must outlive whatever the model or the disk does: everybody else's captions depend on it.
                log.error("a batch of %d sessions failed\n%s", len(group), described(error))
                for task in group:
                    self._fail(task)

    def _batch(self, tasks: Sequence[Task]) -> None:
        backend = tasks[0].captions.model.backend
        results = run_together([_guarded(task, self._clock) for task in tasks], backend)
        done = [result for result in results if result is not None]
        # A tail that brought nothing out leaves nothing behind.
        new = [result for result in done if result.update.after != result.update.before]
        stored_now = dict(zip(map(id, new), self._store.advance([result.update for result in new]), strict=True))
        for task, result in zip(tasks, results, strict=True):
            if result is None:
                self._fail(task)
        for result in done:
            task = result.task
            if not stored_now.get(id(result), True):
                log.warning("session continued by another server", extra={"session": alias(task.session_id)})
                self._fail(task, "moved")
                continue
            del task.waiting[: result.inputs]
            if not task.waiting:
                del self._busy[task.session_id]
            lags = tuple(task.lag.of(result.events))
            self._report(Done(task, result.update.after, result.events, result.tentative, lags))

    def _fail(self, task: Task, cause: Cause = "failed") -> None:
        if task.failed:
            return
        task.failed = True
        # It may be done and no longer there, if what failed came after that.
        self._busy.pop(task.session_id, None)
        self._report(Failed(task, cause))


def _portion(waiting: Sequence[Input]) -> list[Input]:
    """The inputs that are done in one round: none after a change of the model, because a batch is of one model."""
    portion = list(waiting[:INPUTS_PER_ROUND])
    for count, item in enumerate(portion, start=1):
        change = change_in(item)
        if change is not None and change.model is not None:
            return portion[:count]
    return portion


def _guarded(task: Task, clock: Callable[[], float]) -> Steps[_Result | None]:
    """The work of one session; None where it failed."""
    captions, inputs = task.captions, _portion(task.waiting)
    before = captions.progress
    try:
        events = tuple((yield from captions.apply(inputs, lambda: 1000 * (clock() - task.began))))
        stored = tuple(EVENTS.to_json(event) for event in events)
        update = SessionUpdate(
            task.session_id, task.token, before, captions.progress, stored, captions.state(), touched=clock()
        )
    except Exception as error:
        # The text of an error may hold what was said; its kind does not.
        log.error("session failed", extra={"session": alias(task.session_id), "error": type(error).__name__})
        return None
    return _Result(task, len(inputs), events, update, captions.tentative)
