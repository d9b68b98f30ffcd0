"""A session's events as a file: text, SRT or WebVTT, of the translation or of what was said.

A speaker's clock that stands beyond a day at the first word (most count from 1970) is set to the session's there.
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
    parsed = [json.loads(event) for event in events]
    ahead = _ahead(parsed) if clock == "speaker" else None
    records = [record for event in parsed for record in _records(event, side, ahead)]
    for record in [*records, End(0, 0)]:
        writer.write(record)
    return file.getvalue()


def _ahead(events: list[dict[str, Any]]) -> float:
    """Milliseconds that the speaker's clock is ahead of the session's, if it counts from long before."""
    for event in events:
        if "at" in event:
            return event["at"] - event["ms"] if event["at"] > 1000 * DAY else 0.0
    return 0.0


def _records(event: dict[str, Any], side: Side, ahead: float | None) -> list[Record]:
    """What the writers of files understand of an event. A sentence of the source ends where its translation does."""
    shown = "write" if side == "target" else "source"
    if event["type"] == shown:
        ms = event["ms"] if ahead is None or "at" not in event else max(0.0, event["at"] - ahead)
        return [Write(event["word"], event["index"], 0, 0, "policy", ms)]
    if event["type"] == "sentence":
        return [SentenceEnd(event["sentence"], event["source_words"], event["target_words"], event["reason"])]
    return []
