"""A session's events as a file: text, SRT or WebVTT, of the translation or of what was said."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any, Literal

from turia.interop.output import OutputFormat, output
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
    records = [record for event in map(json.loads, events) for record in _records(event, side, clock)]
    for record in [*records, End(0, 0)]:
        writer.write(record)
    return file.getvalue()


def _records(event: dict[str, Any], side: Side, clock: Clock) -> list[Record]:
    """What the writers of files understand of an event. A sentence of the source ends where its translation does."""
    shown = "write" if side == "target" else "source"
    if event["type"] == shown:
        ms = event["at"] if clock == "speaker" and "at" in event else event["ms"]
        return [Write(event["word"], event["index"], 0, 0, "policy", ms)]
    if event["type"] == "sentence":
        return [SentenceEnd(event["sentence"], event["source_words"], event["target_words"], event["reason"])]
    return []
