"""The record of one stream as JSON lines: the only link from the engine to the evaluation (docs/trace.md).

    {"type":"stream","version":1,"model":"de-en","k":4,...}
    {"type":"write","word":"Ladies","index":0,"read":5,"sentence":0,"reason":"policy","ms":812.4}
    {"type":"sentence","sentence":0,"source_words":17,"target_words":19,"reason":"segmenter"}
    {"type":"note","kind":"loop","sentence":3,"detail":"..."}
    {"type":"end","source_words":25561,"target_words":26102}

If the source words have times, a `write` also has `read_seconds` (its delay in seconds: when the last word that had
been read ended) and a `sentence` has `ends` (when each of its source words ended). See `times`.

A server sends the same records as events (`turia.protocol.events`). It adds the time at which each was made.

Readers accept keys they do not know (a later release may add them), and refuse a version or a type of record
that they do not know. Lines end in "\n" alone: other line breaks of Unicode may stand inside a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from turia.errors import FormatError, InputError
from turia.schema import JsonObject, MismatchError, Natural, Rule, Tagged, one_of, read_json, write_json

VERSION = 1
REASONS = ("policy", "catch-up", "flush", "max-lag")
"""Why a word was written: the policy said so, its sentence is closed, the stream is over, or the lag was too large."""
OneWord = Annotated[str, Rule(lambda value: value.split() == [value], "one word")]
# Numbers up to 1.8e308 are floats; times near that could not be added up in smaller units.
Time = Annotated[float, Rule(lambda value: abs(value) < 1e250, "a number")]


@dataclass(frozen=True)
class Write:
    """One committed target word; `read` is its delay d[index]."""

    word: OneWord
    index: Natural
    read: Natural
    sentence: Natural
    reason: str
    """See `REASONS`."""
    ms: Time | None = None
    """When it was written, in milliseconds since the stream began."""
    read_seconds: Time | None = None
    """The delay in seconds of the speech."""
    at: Time | None = None
    """From a server: when the last word that had been heard was spoken, in milliseconds of the speaker's clock."""

    @property
    def text(self) -> str:
        """What a caption shows."""
        return self.word


@dataclass(frozen=True)
class SentenceEnd:
    """A sentence pair is complete on both sides."""

    sentence: Natural
    source_words: Natural
    target_words: Natural
    reason: str
    ends: tuple[Time, ...] | None = None
    """When each of its source words ended, in seconds of the speech."""
    ms: Time | None = None
    """From a server: when it was complete, in milliseconds since the session began."""

    @property
    def text(self) -> str:
        """A new line: captions printed as they come have a sentence on each."""
        return "\n"


@dataclass(frozen=True)
class Note:
    """Something that happened to the stream beside words and sentences, such as a guard that cut a loop
    (docs/protocol.md)."""

    kind: str
    sentence: Natural
    detail: str = ""

    @property
    def text(self) -> str:
        """Nothing: a note is for the trace."""
        return ""


@dataclass(frozen=True)
class End:
    """The stream is over."""

    source_words: Natural
    target_words: Natural
    ms: Time | None = None
    """From a server: when it ended, in milliseconds since the session began."""

    @property
    def text(self) -> str:
        """Nothing."""
        return ""


Record = Write | SentenceEnd | Note | End
RECORDS: Tagged[Record] = Tagged({"write": Write, "sentence": SentenceEnd, "note": Note, "end": End})


def words_by_sentence(records: Iterable[Record], sentences: int) -> list[list[str]]:
    """The words written for each of so many given sentences, also where the engine cut one that was too long."""
    translations: list[list[str]] = [[] for _ in range(sentences)]
    given = 0
    for record in records:
        if isinstance(record, Write):
            translations[given].append(record.word)
        elif isinstance(record, SentenceEnd) and record.reason != "forced":
            given += 1
    return translations


@dataclass(frozen=True)
class Trace:
    """A whole stream: its settings (k, gamma, window, history, rounding, units, ...) and its records."""

    settings: dict[str, Any] = field(default_factory=dict)
    records: tuple[Record, ...] = ()

    def writes(self) -> list[Write]:
        return [record for record in self.records if isinstance(record, Write)]

    def words(self) -> list[str]:
        return [write.word for write in self.writes()]

    def delays(self) -> list[int]:
        return [write.read for write in self.writes()]

    def source_words(self) -> int:
        """Source words of the stream, or of what was read of it when the trace was cut off."""
        ends = [record.source_words for record in self.records if isinstance(record, End)]
        return ends[-1] if ends else max(self.delays(), default=0)

    def delays_in_seconds(self) -> list[float] | None:
        """The delays in seconds of the speech; None where the source had no times."""
        seconds = [write.read_seconds for write in self.writes() if write.read_seconds is not None]
        return seconds if len(seconds) == len(self.writes()) else None

    def source_ends(self) -> list[float] | None:
        """When each source word ended, in seconds of the speech; None unless that is known for all of them."""
        sentences = [record for record in self.records if isinstance(record, SentenceEnd)]
        ends = [end for sentence in sentences for end in sentence.ends or ()]
        return ends if ends and len(ends) == self.source_words() else None


def header_line(settings: Mapping[str, Any]) -> str:
    """The first line of a trace."""
    assert not {"type", "version"} & settings.keys()
    return write_json({"type": "stream", "version": VERSION, **settings})


def record_line(record: Record) -> str:
    """One record as its line, without the newline; absent times are left out."""
    return RECORDS.to_line(record)


def trace_lines(trace: Trace) -> Iterator[str]:
    """The lines of a whole trace."""
    yield header_line(trace.settings)
    for record in trace.records:
        yield record_line(record)


def parse_trace(lines: Iterable[str], path: str | None = None, source_words: int | None = None) -> Trace:
    """A trace from its lines; refuses what a correct engine cannot have written, naming the line.

    `source_words`: words of the source that was translated, where it is known; nobody can have read more of them.
    """
    settings: JsonObject | None = None
    records = _CheckedRecords(source_words)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = _parse_line(line)
            if settings is None:
                settings = _settings(data)
            else:
                records.add(data)
        except InputError as error:
            raise FormatError(str(error), path, number) from error
    if settings is None:
        raise FormatError('empty trace: expected a first line with "type":"stream"', path)
    return Trace(settings, tuple(records.found))


class _CheckedRecords:
    """The records of a trace, each checked against those before it."""

    def __init__(self, source_words: int | None) -> None:
        self.found: list[Record] = []
        self._source_words = source_words
        self._words = self._read = self._sentence = 0

    def add(self, data: JsonObject) -> None:
        if self.found and isinstance(self.found[-1], End):
            raise FormatError("a record after the end of the stream")
        record = RECORDS.from_json(data)
        match record:
            case Write():
                self._check_write(record)
            case SentenceEnd(source_words=words, ends=ends):
                if ends is not None and len(ends) != words:
                    raise FormatError(f"{len(ends)} ends for {words} source words")
            case End():
                self._check_end(record)
        self.found.append(record)

    def _check_write(self, write: Write) -> None:
        if write.reason not in REASONS:
            raise MismatchError("reason", write.reason, one_of(*REASONS).expected)
        if write.index != self._words:
            raise FormatError(f"word index {write.index}, expected {self._words}")
        if write.read < self._read:
            raise FormatError(f"read {write.read} words, but {self._read} had been read before")
        if self._source_words is not None and write.read > self._source_words:
            raise FormatError(f"read {write.read} words, but the source has {self._source_words}")
        if write.sentence < self._sentence:
            raise FormatError(f"sentence {write.sentence} after sentence {self._sentence}")
        self._words, self._read, self._sentence = self._words + 1, write.read, write.sentence

    def _check_end(self, end: End) -> None:
        if end.target_words != self._words:
            raise FormatError(f"{end.target_words} target words, but {self._words} were written")
        if end.source_words < self._read:
            raise FormatError(f"{end.source_words} source words, but {self._read} were read")
        if self._source_words is not None and end.source_words > self._source_words:
            raise FormatError(f"{end.source_words} words read, but the source has {self._source_words}")


def _settings(data: JsonObject) -> JsonObject:
    if data.get("type") != "stream":
        raise FormatError('a trace begins with a line of "type":"stream"')
    version = data.get("version")
    # In Python, true and 1.0 equal 1.
    if type(version) is not int or version != VERSION:
        raise FormatError(f"trace version {version!r}; this Turia reads {VERSION}")
    return {key: value for key, value in data.items() if key not in ("type", "version")}


def _parse_line(line: str) -> JsonObject:
    data = read_json(line)
    if "\\u" in line:
        try:
            write_json(data).encode()
        except UnicodeEncodeError as error:
            # Half of a pair of surrogates is no text: nothing could print it.
            raise FormatError(f"not JSON: {error}") from error
    return data
