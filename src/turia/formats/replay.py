"""A recorded stream as moments: what was shown, and at which second. Pure: no clock, no file.

Two kinds of file are read, and told apart by their first line:

    {"type":"stream","version":1,...}       a trace: the translation (docs/trace.md)
    {"type":"recording","version":1,...}    the events of a session, as a server gives them (docs/replay.md)

A trace has two clocks. Of the speech's, we know when the words were spoken, whatever machine translated them, so it is
taken if all words have it. Otherwise it is the clock of the machine. Moments begin with the first word, at 0, and never
go back, so the same file is always played in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from turia.errors import FormatError, InputError
from turia.schema import JsonObject, read_json, write_json
from turia.stream.trace import RECORDS, Trace, Write, parse_trace

VERSION = 1
LATEST = 10 * 366 * 86_400.0
"""Seconds after which nobody waits for the next word."""
KIND = "recording"


@dataclass(frozen=True)
class TimedEvent:
    """A record or an event, and the second at which it is shown."""

    seconds: float
    event: JsonObject


def recording_lines(events: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The lines of a recording, without their newlines."""
    yield write_json({"type": KIND, "version": VERSION})
    for event in events:
        yield write_json(event)


def moments(lines: Iterable[str], path: str | None = None) -> list[TimedEvent]:
    """What a trace or a recording has to show, in order."""
    held = [line for line in lines if line.strip()]
    if not held:
        raise FormatError("empty: expected a trace or a recording", path)
    if _object(held[0], path, 1).get("type") == KIND:
        return _from_first_word(_of_recording(held, path))
    return _from_first_word(_of_trace(parse_trace(held, path), path))


def _of_trace(trace: Trace, path: str | None) -> Iterator[TimedEvent]:
    by_speech = trace.delays_in_seconds() is not None
    seconds = 0.0
    for record in trace.records:
        if isinstance(record, Write):
            at = record.read_seconds if by_speech else None if record.ms is None else record.ms / 1000
            if at is None:
                raise FormatError(f"word {record.index} has no time, so it cannot be replayed", path)
            if at > LATEST:
                raise FormatError(
                    f"word {record.index} comes after {at:.0e} seconds, expected a time of a speech", path
                )
            seconds = max(seconds, at)
        yield TimedEvent(seconds, RECORDS.to_json(record))


def _of_recording(lines: list[str], path: str | None) -> Iterator[TimedEvent]:
    version = _object(lines[0], path, 1).get("version")
    if version != VERSION:
        raise FormatError(f"a recording of version {version!r}; this release reads {VERSION}", path, 1)
    seconds = 0.0
    for number, line in enumerate(lines[1:], start=2):
        event = _object(line, path, number)
        ms = event.get("ms", 0.0)
        if isinstance(ms, bool) or not isinstance(ms, int | float) or abs(ms) > 1000 * LATEST:
            raise FormatError("ms is no number of milliseconds", path, number)
        if event.get("type") in ("source", "write") and not isinstance(event.get("word"), str):
            raise FormatError("a word is missing", path, number)
        counts = [event.get(key) for key in ("source_words", "target_words")]
        if event.get("type") == "sentence" and not all(type(count) is int and count >= 0 for count in counts):
            raise FormatError("a sentence without its numbers of words", path, number)
        seconds = max(seconds, ms / 1000)
        yield TimedEvent(seconds, event)


def _from_first_word(found: Iterable[TimedEvent]) -> list[TimedEvent]:
    held = list(found)
    first = next((moment.seconds for moment in held if "word" in moment.event), 0.0)
    return [TimedEvent(max(0.0, round(moment.seconds - first, 3)), moment.event) for moment in held]


def _object(line: str, path: str | None, number: int) -> JsonObject:
    try:
        return read_json(line)
    except InputError as error:
        raise FormatError(str(error), path, number) from error
