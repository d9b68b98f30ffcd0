"""A session's events as a file: text, SRT or WebVTT, of the translation or of what was said; or all of them, to replay.

Events are taken one by one, so that a long session needs no more memory than its words take as a file. A speaker's
clock that stands beyond a day at the first word (most count from 1970) is set to the session's there.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from turia.errors import ConfigError
from turia.formats.output import caption_output
from turia.formats.replay import recording_lines
from turia.protocol.corrections import Correction, Insertion
from turia.protocol.events import EVENTS, Event, SourceWord
from turia.schema import JsonObject
from turia.server.corrected import Shown, ShownWord, corrected
from turia.server.stores.base import DamagedError
from turia.stream.speakers import SPEAKER
from turia.stream.times import DAY
from turia.stream.trace import Note, SentenceEnd, Write

Side = Literal["target", "source"]
Kind = Literal["txt", "srt", "vtt", "jsonl"]
Clock = Literal["server", "speaker"]
"""Times from the beginning of the session, or those that the speaker's words came with."""
MEDIA_TYPES: dict[Kind, str] = {
    "txt": "text/plain",
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
    "jsonl": "application/jsonl",
}


@dataclass(frozen=True)
class TranscriptRequest:
    """What a request for a transcript may choose."""

    kind: Kind
    side: Side = "target"
    clock: Clock = "server"


def transcript(events: Iterable[JsonObject], kind: Kind, side: Side, clock: Clock = "server") -> str:
    """The whole file, of all that was said so far."""
    if kind == "jsonl":
        return "".join(f"{line}\n" for line in recording_lines(events))
    file = io.StringIO()
    captions = caption_output("text" if kind == "txt" else kind, file)
    shown = _shown(_needed(events, side, clock), side, clock)
    for item in _in_sentences(shown) if side == "source" else corrected(shown):
        if isinstance(item, ShownWord):
            captions.word(item.word, item.ms)
        elif isinstance(item, Note):
            captions.speaker(item.detail)
        else:
            captions.end_sentence()
    captions.end_sentence()
    return file.getvalue()


def _needed(events: Iterable[JsonObject], side: Side, clock: Clock) -> Iterator[Event]:
    """The events that the file is made of. Others, such as those of later releases, are not even read."""
    word = "write" if side == "target" else "source"
    # The first word of either side says what the speaker's clock counts from.
    needed = {"sentence", word} if clock == "server" else {"sentence", "write", "source"}
    if side == "target":
        needed |= {"correction", "insertion"}
    for event in events:
        names_speaker = event.get("type") == "note" and event.get("kind") == SPEAKER
        if names_speaker or str(event.get("type")) in needed:
            try:
                yield EVENTS.from_json(event)
            except ConfigError:
                # The cause may hold what was said.
                raise DamagedError from None


def _shown(events: Iterable[Event], side: Side, clock: Clock) -> Iterator[Shown | Correction | Insertion]:
    """The words of one side with their times, the ends of sentences, who speaks, and what an operator has changed."""
    ahead: float | None = None
    for event in events:
        match event:
            case SentenceEnd() | Note() | Correction() | Insertion():
                yield event
            case Write(ms=float(ms)) | SourceWord(ms=ms):
                if clock == "speaker" and event.at is not None:
                    ahead = _ahead(event.at, ms) if ahead is None else ahead
                    ms = max(0.0, event.at - ahead)
                if isinstance(event, Write) == (side == "target"):
                    yield ShownWord(event.word, ms, event.sentence if isinstance(event, Write) else 0)


def _in_sentences(shown: Iterable[Shown | Correction | Insertion]) -> Iterator[Shown]:
    """A sentence of the source ends some words before it is found to have ended: words wait for that."""
    waiting: deque[ShownWord] = deque()
    for item in shown:
        if isinstance(item, ShownWord):
            waiting.append(item)
        elif isinstance(item, Note):
            # All sentences before another speaker are closed.
            yield from waiting
            waiting.clear()
            yield item
        elif isinstance(item, SentenceEnd):
            yield from (waiting.popleft() for _ in range(min(item.source_words, len(waiting))))
            yield item
    yield from waiting


def _ahead(at: float, ms: float) -> float:
    """Milliseconds that the speaker's clock is ahead of the session's, if it counts from long before."""
    return at - ms if at > 1000 * DAY else 0.0
