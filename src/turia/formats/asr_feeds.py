"""What speech recognisers print, as source words with their times. A feed takes lines as they come, and gives words.

    words     plain words
    whisper   `begin end text` in milliseconds, as whisper_streaming's server sends; its program puts the time of
              emission in front (`4186.3606 0 1720 text`)
    jsonl     {"start": 0.1, "end": 1.7, "text": "...", "is_final": true}, in seconds; final unless it says otherwise
    vosk      {"partial": "..."} and {"result": [{"word", "start", "end"}, ...], "text": "..."}
    deepgram  {"is_final": true, "channel": {"alternatives": [{"transcript": "...", "words": [...]}]}}

Rules: only final words come out. A partial hypothesis may say anything and is left alone, so that its revision cannot
disturb what was committed. A text without times for its words shares its own time out evenly. An end of an utterance is
not the end of a sentence: that is for the segmenter. What is not the format named is refused with its line.

Times go on as they are; what they count from is for turia.stream.times. Only the unit is settled here: seconds that
would lie beyond the year 5000 are milliseconds since 1970.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from turia.errors import FormatError
from turia.stream.times import SpokenWord
from turia.system.reading import BYTE_ORDER_MARK

InputFormat = Literal["words", "whisper", "jsonl", "vosk", "deepgram"]
Fields = dict[str, Any]

# The time of emission has four decimals, the others none: a text that begins with a number is no trouble.
_WHISPER = re.compile(r"(?:\d+\.\d{4} )?(-?\d{1,14}) (-?\d{1,14})(?: +(.*))?")
LONGEST_MESSAGE = 1 << 20
"""Characters of one JSON message, which may go over many lines."""
LATEST_SECONDS, LATEST_MILLISECONDS = 1e11, 1e14
"""Since 1970, both of them in the year 5138."""


def spoken_words(kind: InputFormat, lines: Iterable[str], path: str | None = None) -> Iterator[SpokenWord]:
    """The final words of a feed, each as soon as its line is there."""
    lines = _without_mark(lines)
    if kind == "words":
        for line in lines:
            yield from (SpokenWord(word) for word in line.split())
    elif kind == "whisper":
        for number, line in enumerate(lines, start=1):
            yield from _whisper(line, path, number)
    else:
        reader = _READERS[kind]
        for number, message in _messages(lines, path):
            try:
                yield from reader(message)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise FormatError(f"not a message of {kind}: {_cause(error)}", path, number) from error


def _without_mark(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(BYTE_ORDER_MARK)


def shared_out(text: str, start: float | None, end: float | None) -> list[SpokenWord]:
    """The words of a text that has times only as a whole."""
    words = text.split()
    if start is None or end is None:
        return [SpokenWord(word, None, end) for word in words]
    step = (end - start) / max(1, len(words))
    return [
        SpokenWord(word, round(start + i * step, 3), round(start + (i + 1) * step, 3)) for i, word in enumerate(words)
    ]


def _whisper(line: str, path: str | None, number: int) -> list[SpokenWord]:
    if not line.strip():
        return []
    match = _WHISPER.fullmatch(line.strip())
    if match is None:
        raise FormatError("expected `begin end text`, begin and end in whole milliseconds", path, number)
    return shared_out(match[3] or "", int(match[1]) / 1000, int(match[2]) / 1000)


def _jsonl(message: Fields) -> list[SpokenWord]:
    if not _flag(message, "is_final", default=True):
        return []
    return shared_out(_text(message, "text"), _time(message, "start"), _time(message, "end"))


def _vosk(message: Fields) -> list[SpokenWord]:
    if "partial" in message:
        return []
    # With alternatives, the first is the best.
    best = message["alternatives"][0] if "alternatives" in message else message
    if "result" in best:
        return [_word(item, "word") for item in best["result"]]
    return shared_out(_text(best, "text"), None, None)


def _deepgram(message: Fields) -> list[SpokenWord]:
    # Metadata, SpeechStarted and UtteranceEnd say nothing.
    if "channel" not in message or message.get("type", "Results") != "Results" or not _flag(message, "is_final"):
        return []
    best = message["channel"]["alternatives"][0]
    if best.get("words"):
        return [_word(item, "punctuated_word" if "punctuated_word" in item else "word") for item in best["words"]]
    start, duration = _time(message, "start"), _time(message, "duration")
    return shared_out(_text(best, "transcript"), start, None if start is None or duration is None else start + duration)


_READERS: dict[str, Callable[[Fields], Sequence[SpokenWord]]] = {
    "jsonl": _jsonl,
    "vosk": _vosk,
    "deepgram": _deepgram,
}


def _messages(lines: Iterable[str], path: str | None) -> Iterator[tuple[int, Fields]]:
    """JSON objects and the lines on which they begin. Vosk spreads one over several lines."""
    pending, begun = "", 0
    for number, line in enumerate(lines, start=1):
        if not pending and not line.strip():
            continue
        begun = begun if pending else number
        pending += line
        try:
            message = json.loads(pending)
        except RecursionError as error:
            raise FormatError(f"not JSON: {error}", path, begun) from error
        except ValueError as error:
            # An object that is not complete may go on, unless the next one has begun.
            goes_on = pending.lstrip().startswith("{") and (number == begun or not line.startswith("{"))
            if not goes_on or len(pending) > LONGEST_MESSAGE:
                raise FormatError(f"not JSON: {error}", path, begun) from error
            continue
        if not isinstance(message, dict):
            raise FormatError("expected a JSON object", path, begun)
        yield begun, message
        pending = ""
    if pending:
        raise FormatError("not JSON: the feed ends inside a message", path, begun)


def _word(item: Fields, key: str) -> SpokenWord:
    return SpokenWord(_text(item, key), _time(item, "start"), _time(item, "end"))


def _text(item: Fields, key: str) -> str:
    if not isinstance(item[key], str):
        raise ValueError(f"{key} is {item[key]!r}, expected text")
    return str(item[key])


def _time(item: Fields, key: str) -> float | None:
    """Seconds, if they are said."""
    value = item.get(key)
    if value is None:
        return None
    # Written so that NaN is refused too.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LATEST_MILLISECONDS:
        raise ValueError(f"{key} is {value!r:.30}, expected seconds")
    return float(value) if abs(value) < LATEST_SECONDS else value / 1000


def _flag(item: Fields, key: str, default: bool = False) -> bool:
    value = item.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{key} is {value!r}, expected true or false")
    return value


def _cause(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error.args[0]!r}"
    # A list or an object is empty, or is something else.
    return str(error) if isinstance(error, ValueError) else "its parts are not as docs/asr.md shows them"
