"""The record of one stream as JSON lines: the only link from the engine to the evaluation (CLI.md, "Trace").

    {"type":"stream","version":1,"model":"de-en","k":4,...}
    {"type":"write","word":"Ladies","index":0,"read":5,"sentence":0,"reason":"policy","ms":812.4}
    {"type":"sentence","sentence":0,"source_words":17,"target_words":19,"reason":"segmenter"}
    {"type":"note","kind":"loop","sentence":3,"detail":"..."}
    {"type":"end","source_words":25561,"target_words":26102}

Where the source words came with times, a `write` also has `read_seconds` (its delay in seconds: when the last word that
had been read was over) and a `sentence` has `ends` (when each of its source words was over). See `times`.

Readers accept keys they do not know (a later release may add them), and refuse a version or a type of record
that they do not know. Lines end in "\n" alone: other line breaks of Unicode may stand inside a line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Never

from turia.errors import FormatError

VERSION = 1
REASONS = ("policy", "catch-up", "flush")


@dataclass(frozen=True)
class Write:
    """One committed target word; `read` is its delay d[index]."""

    word: str
    index: int
    read: int
    sentence: int
    reason: str
    ms: float | None = None
    read_seconds: float | None = None
    """The delay in seconds of the speech."""

    @property
    def text(self) -> str:
        """What a caption shows."""
        return self.word


@dataclass(frozen=True)
class SentenceEnd:
    """A sentence pair is complete on both sides."""

    sentence: int
    source_words: int
    target_words: int
    reason: str
    ends: tuple[float, ...] | None = None
    """When each of its source words was over, in seconds of the speech."""

    @property
    def text(self) -> str:
        """A new line: captions printed as they come have a sentence on each."""
        return "\n"


@dataclass(frozen=True)
class Note:
    """What the counts and words do not tell: what a guard did, and what was changed on the way (docs/protocol.md)."""

    kind: str
    sentence: int
    detail: str = ""

    @property
    def text(self) -> str:
        """Nothing: a note is for the trace."""
        return ""


@dataclass(frozen=True)
class End:
    """The stream is over."""

    source_words: int
    target_words: int

    @property
    def text(self) -> str:
        """Nothing."""
        return ""


Record = Write | SentenceEnd | Note | End


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


_TYPES: dict[str, type[Record]] = {"write": Write, "sentence": SentenceEnd, "note": Note, "end": End}
_NAMES = {record_type: name for name, record_type in _TYPES.items()}


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
        """When each source word was over, in seconds of the speech; None unless that is known of all."""
        sentences = [record for record in self.records if isinstance(record, SentenceEnd)]
        ends = [end for sentence in sentences for end in sentence.ends or ()]
        return ends if ends and len(ends) == self.source_words() else None


def header_line(settings: Mapping[str, Any]) -> str:
    """The first line of a trace."""
    assert not {"type", "version"} & settings.keys()
    return _dumps({"type": "stream", "version": VERSION, **settings})


def record_line(record: Record) -> str:
    """One record as its line, without the newline; absent times are left out."""
    fields = {key: value for key, value in vars(record).items() if value is not None}
    return _dumps({"type": _NAMES[type(record)], **fields})


def trace_lines(trace: Trace) -> Iterator[str]:
    """The lines of a whole trace."""
    yield header_line(trace.settings)
    for record in trace.records:
        yield record_line(record)


def parse_trace(lines: Iterable[str], path: str | None = None, source_words: int | None = None) -> Trace:
    """A trace from its lines; refuses what a correct engine cannot have written, naming the line.

    `source_words`: words of the source that was translated, where it is known; nobody can have read more of them.
    """
    settings: dict[str, Any] | None = None
    records: list[Record] = []
    words = read = sentence = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        data = _object(line, path, number)
        if settings is None:
            settings = _settings(data, path, number)
            continue
        if records and isinstance(records[-1], End):
            raise FormatError("a record after the end of the stream", path, number)
        record = _record(data, path, number)
        if isinstance(record, Write):
            if record.index != words:
                raise FormatError(f"word index {record.index}, expected {words}", path, number)
            if record.read < read:
                raise FormatError(f"read {record.read} words, but {read} had been read before", path, number)
            if source_words is not None and record.read > source_words:
                raise FormatError(f"read {record.read} words, but the source has {source_words}", path, number)
            if record.sentence < sentence:
                raise FormatError(f"sentence {record.sentence} after sentence {sentence}", path, number)
            words, read, sentence = words + 1, record.read, record.sentence
        elif isinstance(record, End):
            if record.target_words != words:
                cause = f"{record.target_words} target words, but {words} were written"
                raise FormatError(cause, path, number)
            if record.source_words < read:
                raise FormatError(f"{record.source_words} source words, but {read} were read", path, number)
            if source_words is not None and record.source_words > source_words:
                raise FormatError(f"{record.source_words} words read, but the source has {source_words}", path, number)
        records.append(record)
    if settings is None:
        raise FormatError('empty trace: expected a first line with "type":"stream"', path)
    return Trace(settings, tuple(records))


def _settings(data: dict[str, Any], path: str | None, number: int) -> dict[str, Any]:
    if data.get("type") != "stream":
        raise FormatError('a trace begins with a line of "type":"stream"', path, number)
    version = data.get("version")
    # In Python, true and 1.0 equal 1.
    if type(version) is not int or version != VERSION:
        raise FormatError(f"trace version {version!r}; this Turia reads {VERSION}", path, number)
    return {key: value for key, value in data.items() if key not in ("type", "version")}


def _record(data: dict[str, Any], path: str | None, number: int) -> Record:
    name = data.get("type")
    record_type = _TYPES.get(name) if isinstance(name, str) else None
    if record_type is None:
        known = ", ".join(_TYPES)
        raise FormatError(f"unknown record type {name!r}, expected one of {known}", path, number)
    values: dict[str, Any] = {}
    for item in fields(record_type):
        if item.name in data:
            value = data[item.name]
            _check(item.name, value, path, number)
            values[item.name] = tuple(value) if isinstance(value, list) else value
        elif item.default is MISSING:
            raise FormatError(f"a {name} record without {item.name!r}", path, number)
    record = record_type(**values)
    if isinstance(record, Write):
        if record.word.split() != [record.word]:
            raise FormatError(f"word is {record.word!r}, expected one word", path, number)
        if record.reason not in REASONS:
            expected = ", ".join(REASONS)
            raise FormatError(f"reason is {record.reason!r}, expected one of {expected}", path, number)
    elif isinstance(record, SentenceEnd) and record.ends is not None and len(record.ends) != record.source_words:
        raise FormatError(f"{len(record.ends)} ends for {record.source_words} source words", path, number)
    return record


def _check(key: str, value: Any, path: str | None, number: int) -> None:
    """Texts are strings, times are numbers, all else counts words or sentences."""
    if key in ("word", "reason", "kind", "detail"):
        fits, expected = isinstance(value, str), "a string"
    elif key in ("ms", "read_seconds"):
        fits, expected = value is None or _is_number(value), "a number"
    elif key == "ends":
        fits = value is None or (isinstance(value, list) and all(map(_is_number, value)))
        expected = "a list of numbers"
    else:
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        expected = "a whole number from 0"
    if not fits:
        raise FormatError(f"{key} is {value!r}, expected {expected}", path, number)


def _is_number(value: Any) -> bool:
    # A whole number may have any number of digits: one that is no float is no time either.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _object(line: str, path: str | None, number: int) -> dict[str, Any]:
    try:
        data = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
        if "\\u" in line:
            # Half of a pair of surrogates is no text: nothing could print it.
            _dumps(data).encode()
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at column {error.colno}", path, number) from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, brackets 5,000 deep
        raise FormatError(f"not JSON: {error}", path, number) from error
    if not isinstance(data, dict):
        raise FormatError("expected a JSON object", path, number)
    return data


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits:.30} is too large for a number")
    return number


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")


def _dumps(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
