"""SIGINT and SIGTERM during long work: noted when they come, obeyed at a point where the work can stop.

Only the first signal is noted. A second one has its usual effect: it ends the process at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from turia.errors import Stopped

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequests:
    """Which signal has come, if any. `then` is called when one comes; it must be quick and must not raise."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.number = 0
        self._then = then
        self._waits = True
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes signals for the time of the block, if this is the main thread: other threads receive none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # All of them are known before the first is replaced: a signal that comes in between puts them back.
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        try:
            for number in SIGNALS:
                if not self.number:
                    signal.signal(number, self._note)
            yield
        finally:
            self._restore()

    @contextmanager
    def obeyed_at_once(self) -> Iterator[None]:
        """In this block a signal raises `Stopped`: for long work that may be interrupted anywhere."""
        self._waits = False
        try:
            if self.number:
                raise Stopped(self.number)
            yield
        finally:
            self._waits = True

    def wait(self) -> None:
        """Waits for a signal."""
        with suppress(Stopped), self.obeyed_at_once():
            threading.Event().wait()

    def until(self, items: Iterable[T]) -> Iterator[T]:
        """Gives `items` to their end or until a signal comes, also while the next one is being waited for."""
        coming = iter(items)
        while not self.number:
            try:
                with self.obeyed_at_once():
                    item = next(coming)
            except (Stopped, StopIteration):
                return
            yield item

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._restore()
        self._then()
        if not self._waits:
            raise Stopped(number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
