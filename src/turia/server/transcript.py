"""A session's events as a file: text, SRT or WebVTT, of the translation or of what was said.

Events are taken one by one, so that a long session needs no more memory than its words take as a file. A speaker's
clock that stands beyond a day at the first word (most count from 1970) is set to the session's there.
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from turia.interop.output import OutputFormat, output
from turia.stream.times import DAY
from turia.stream.trace import End, SentenceEnd, Write

Side = Literal["target", "source"]
Kind = Literal["txt", "srt", "vtt"]
Clock = Literal["server", "speaker"]
"""Times from the beginning of the session, or those that the speaker's words came with."""
MEDIA_TYPES: dict[Kind, str] = {"txt": "text/plain", "srt": "application/x-subrip", "vtt": "text/vtt"}


def transcript(events: Iterable[str], kind: Kind, side: Side, clock: Clock = "server") -> str:
    """The whole file, of all that was said so far."""
    file = io.StringIO()
    name: OutputFormat = "text" if kind == "txt" else kind
    writer = output(name, file, {})
    for record in _in_sentences(_records(events, side, clock), side):
        writer.write(record)
    writer.write(End(0, 0))
    return file.getvalue()


def _records(events: Iterable[str], side: Side, clock: Clock) -> Iterator[Write | SentenceEnd]:
    """What the writers of files understand of the events."""
    shown = "write" if side == "target" else "source"
    ahead: float | None = None
    for event in map(json.loads, events):
        if clock == "speaker" and ahead is None and "at" in event:
            ahead = _ahead(event)
        if event["type"] == shown:
            ms = event["ms"] if ahead is None or "at" not in event else max(0.0, event["at"] - ahead)
            yield Write(event["word"], event["index"], 0, 0, "policy", ms)
        elif event["type"] == "sentence":
            yield SentenceEnd(event["sentence"], event["source_words"], event["target_words"], event["reason"])


def _in_sentences(records: Iterable[Write | SentenceEnd], side: Side) -> Iterator[Write | SentenceEnd]:
    """A sentence of the source ends some words before it is found to have ended: words wait for that."""
    waiting: deque[Write] = deque()
    for record in records:
        if side == "target":
            yield record
        elif isinstance(record, Write):
            waiting.append(record)
        else:
            yield from (waiting.popleft() for _ in range(min(record.source_words, len(waiting))))
            yield record
    yield from waiting


def _ahead(first: dict[str, Any]) -> float:
    """Milliseconds that the speaker's clock is ahead of the session's, if it counts from long before."""
    return first["at"] - first["ms"] if first["at"] > 1000 * DAY else 0.0
