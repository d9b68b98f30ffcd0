"""Errors that nobody foresaw, in the log: where they happened and of which kind they are, but never what was said.

The message of an exception may hold a user's words: Python's repeats the value that it cannot convert. `logs` leaves
messages out of tracebacks, where it formats the lines; what is logged here has none in any process, Ray's included.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import traceback
from typing import Any

from turia.server.logs import Sparingly

log = logging.getLogger("turia.server")


def described(error: BaseException) -> str:
    """The traceback of an error, and of those that led to it, with kinds and lines of code but without messages."""
    parts: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        parts.insert(0, "".join(traceback.format_tb(cause.__traceback__)) + type(cause).__name__)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "Traceback (most recent call last):\n" + "\nled to:\n".join(parts)


class LoopErrors:
    """What the event loop does with an error that nobody waits for: one line of each kind a minute."""

    def __init__(self) -> None:
        self._sparingly = Sparingly(lines=1)

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        # The loop writes out the arguments of a call that failed: those may be words.
        message = re.sub(r"\(.+", "(…)", str(context.get("message")), flags=re.DOTALL)
        left_out = self._sparingly.left_out(f"{message} {type(error).__name__}", time.monotonic())
        if left_out is None:
            return
        fields = {"left_out": left_out} if left_out else {}
        if isinstance(error, OSError):
            # Of the system, not of ours: too many open files, a connection that broke.
            log.warning("%s: %s", message, error.strerror, extra=fields)
        else:
            log.error("%s\n%s", message, "" if error is None else described(error), extra=fields)
