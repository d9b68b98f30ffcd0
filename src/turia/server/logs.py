"""What the server tells its operator: one line for each thing that happened, as text or as JSON (docs/operate.md).

Rules: a message is a fixed sentence. What it is about comes as fields, `extra={"code": "capacity"}`, which both formats
show. No text of users, no secret and no address is logged: a session goes by `alias`, which says nothing to those who
do not know its name, and of an exception only its kind and its place are shown, as its message may hold what was said.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from typing import IO, Any, Literal

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["text", "json"]
LINES_PER_MINUTE = 10
"""Of one refusal. A client that is refused without end must not fill the disk of the log."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
"""What every record has, and what uvicorn adds for terminals: no fields of ours."""


class _ToStandardError(logging.StreamHandler[IO[str]]):
    """Standard error as it is when a line is written, whoever has put another in its place."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> IO[str]:  # type: ignore[override]
        return sys.stderr


def configure(level: Level = "info", form: Format = "text") -> None:
    """Logs of this process, uvicorn's among them, go to standard error in this format."""
    handler = _ToStandardError()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    for before in [other for other in root.handlers if isinstance(other, _ToStandardError)]:
        root.removeHandler(before)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("turia").setLevel(level.upper())


def alias(session_id: str) -> str:
    """A session's name in logs: who knows the session can compute it, who reads the log cannot open the session."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What came as `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _OWN}


class _Lines(logging.Formatter):
    """What both formats share."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802  (logging's name)
        """As RFC 3339 has it, in UTC: logs of several machines can be sorted together."""
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        """The kind and the place of an exception and of its causes, without their messages."""
        return "\n".join(["Traceback (most recent call last):", *_places(ei[1])])


def _places(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield "".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class TextLines(_Lines):
    """2026-11-17T12:30:00.123Z INFO session begins session=0d1c… model=de-en"""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_plain(value)}" for name, value in fields_of(record).items())
        line = f"{self.formatTime(record)} {record.levelname} {record.getMessage()}{fields}"
        return line if not record.exc_info else f"{line}\n{self.formatException(record.exc_info)}"


def _plain(value: Any) -> str:
    text = str(value)
    return text if text and text.isprintable() and not set(text) & {" ", '"', "="} else json.dumps(text)


class JsonLines(_Lines):
    """One JSON object a line: time, level, logger, message; the fields; error and traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in fields_of(record).items() if name not in line}
        if record.exc_info and record.exc_info[0] is not None:
            line |= {"error": record.exc_info[0].__qualname__, "traceback": self.formatException(record.exc_info)}
        return json.dumps(line, ensure_ascii=False, default=str)


class Sparingly:
    """At most so many lines of each kind a minute; the first line of a later minute tells how many were left out."""

    def __init__(self, lines: int = LINES_PER_MINUTE, seconds: float = 60.0) -> None:
        self._lines, self._seconds = lines, seconds
        self._counts: dict[str, tuple[float, int]] = {}
        """When the minute of a kind began, and how many came since."""

    def left_out(self, kind: str, now: float) -> int | None:
        """None if the line is to be left out; otherwise how many were left out before it."""
        began, count = self._counts.get(kind, (now, 0))
        if now - began >= self._seconds:
            self._counts[kind] = (now, 1)
            return max(0, count - self._lines)
        self._counts[kind] = (began, count + 1)
        return 0 if count < self._lines else None
