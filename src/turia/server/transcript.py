"""A session's events as a file: text, SRT or WebVTT, of the translation or of what was said.

Events are taken one by one, so that a long session needs no more memory than its words take as a file. A speaker's
clock that stands beyond a day at the first word (most count from 1970) is set to the session's there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any, Literal

from turia.interop.output import OutputFormat, output
from turia.stream.times import DAY
from turia.stream.trace import End, Record, SentenceEnd, Write

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
    ahead: float | None = None
    for event in map(json.loads, events):
        if clock == "speaker" and ahead is None and "at" in event:
            ahead = _ahead(event)
        for record in _records(event, side, ahead):
            writer.write(record)
    writer.write(End(0, 0))
    return file.getvalue()


def _ahead(first: dict[str, Any]) -> float:
    """Milliseconds that the speaker's clock is ahead of the session's, if it counts from long before."""
    return first["at"] - first["ms"] if first["at"] > 1000 * DAY else 0.0


def _records(event: dict[str, Any], side: Side, ahead: float | None) -> list[Record]:
    """What the writers of files understand of an event. A sentence of the source ends where its translation does."""
    shown = "write" if side == "target" else "source"
    if event["type"] == shown:
        ms = event["ms"] if ahead is None or "at" not in event else max(0.0, event["at"] - ahead)
        return [Write(event["word"], event["index"], 0, 0, "policy", ms)]
    if event["type"] == "sentence":
        return [SentenceEnd(event["sentence"], event["source_words"], event["target_words"], event["reason"])]
    return []
