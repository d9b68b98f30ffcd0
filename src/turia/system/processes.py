"""Work spread over processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from turia.errors import ResourceError

Task = TypeVar("Task")
Result = TypeVar("Result")
INTERRUPT_SECONDS = 0.2
"""So long an interrupt may wait."""


class TaskRunner(Protocol):
    """Does all tasks, somewhere, and gives their results in order."""

    def __call__(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]: ...


def in_processes(work: Callable[[Task], Result], tasks: Iterable[Task], processes: int) -> Iterator[Result]:
    """Results in the order of `tasks`, which are drawn only a little ahead, so that memory stays small."""
    if processes == 1:
        yield from map(work, tasks)
        return
    others = multiprocessing.active_children()
    with _pool(processes) as pool:
        running: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                with _uninterrupted():
                    running.append(pool.submit(work, task))
                if len(running) > 2 * processes:
                    yield _result(running.popleft())
            while running:
                yield _result(running.popleft())
        except (KeyboardInterrupt, GeneratorExit):
            # Do not wait for the tasks that are running: they may take long. GeneratorExit comes if the caller was
            # interrupted between two results.
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
            raise
        except BrokenProcessPool as error:
            raise ResourceError(
                "a worker process died, perhaps because memory ran out; run again: finished work is kept"
            ) from error
        finally:
            for future in running:
                future.cancel()


def in_another_process(work: Callable[..., Result], *arguments: Any) -> Result:
    """The result of `work`, done in a process of its own, so that its memory is not counted to this one."""
    with _pool(1) as pool:
        return pool.submit(work, *arguments).result()


def _result(future: Future[Result]) -> Result:
    done = False
    while not done:
        with _uninterrupted():
            done = bool(wait([future], INTERRUPT_SECONDS).done)
    return future.result()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt comes at the end of it. Amid the pool's own work it could leave a lock that the pool waits for."""
    # Only the main thread is interrupted; Windows cannot hold a signal back.
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pool(processes: int) -> ProcessPoolExecutor:
    # Spawned, because a fork of a process with threads (numpy has some) may hang.
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_follow_parent)


def _follow_parent() -> None:
    """A worker leaves an interrupt to its parent, and ends when the parent does, however that ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
