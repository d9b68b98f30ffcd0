"""What speech recognisers print, as source words with their times. A feed takes lines as they come, and gives words.

    words     plain words
    whisper   `begin end text` in milliseconds, as whisper_streaming's server sends; its program puts the time of
              emission in front (`4186.3606 0 1720 text`)
    jsonl     {"start": 0.1, "end": 1.7, "text": "...", "is_final": true}, in seconds; final unless it says otherwise
    vosk      {"partial": "..."} and {"result": [{"word", "start", "end"}, ...], "text": "..."}
    deepgram  {"is_final": true, "channel": {"alternatives": [{"transcript": "...", "words": [...]}]}}
    whisperlivekit  the messages of its WebSocket (turia.formats.whisperlivekit)
    srt, vtt  subtitles (turia.formats.subtitle_feed)

Rules: final words come out one by one. A partial hypothesis comes out whole, as the tail behind them, whenever it is
another than before. However it shrinks, grows or repeats itself, the newest one holds, and no final word depends on it
(turia.engine.tail). A text without times for its words shares its own time out evenly. An end of an utterance is not
the end of a sentence: that is for the segmenter. What is not the format named is refused with its line.

A word has a speaker if the feed names one (`speaker` in jsonl and deepgram).

Times go on as they are; what they count from is for turia.stream.times. Only the unit is settled here: seconds that
would lie beyond the year 5000 are milliseconds since 1970.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

from turia.errors import FormatError
from turia.formats.feed_words import shared_out, speaker_name
from turia.formats.subtitle_feed import subtitle_words
from turia.formats.whisperlivekit import WhisperLiveKit
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail
from turia.system.reading import BYTE_ORDER_MARK

InputFormat = Literal["words", "whisper", "jsonl", "vosk", "deepgram", "whisperlivekit", "srt", "vtt"]
Fields = dict[str, Any]

# The time of emission has four decimals, the others none: a text that begins with a number is no trouble.
_WHISPER = re.compile(r"(?:[0-9]+\.[0-9]{4} )?(-?[0-9]{1,14}) (-?[0-9]{1,14})(?: +(.*))?")
LONGEST_MESSAGE = 1 << 20
"""Characters of one JSON message, which may go over many lines."""
MOST_READ = 16 * LONGEST_MESSAGE
"""Characters of one message that are read again and again, with each line that may be its last."""
LATEST_SECONDS, LATEST_MILLISECONDS = 1e11, 1e14
"""Since 1970, both of them in the year 5138."""


def heard(kind: InputFormat, lines: Iterable[str | None], path: str | None = None) -> Iterator[Heard]:
    """What a feed has: final words, and the tail behind them when it changes. A None among the lines is a silence."""
    tail = ""
    for item in _items(kind, _without_mark(lines), path):
        if isinstance(item, SpokenWord):
            # What is final is not in the tail any more; recognisers say what is left of it next.
            tail = ""
        elif isinstance(item, UnstableTail):
            if item.text == tail:
                continue
            tail = item.text
        yield item


def _items(kind: InputFormat, lines: Iterable[str | None], path: str | None) -> Iterator[Heard]:
    if kind in ("words", "whisper"):
        for number, line in enumerate(lines, start=1):
            if line is None:
                yield Silent()
            elif kind == "whisper":
                yield from _whisper(line, path, number)
            else:
                yield from map(SpokenWord, line.split())
        return
    if kind in ("srt", "vtt"):
        yield from subtitle_words(kind, lines, path)
        return
    reader = WhisperLiveKit().push if kind == "whisperlivekit" else _READERS[kind]
    for number, message in _messages(lines, path):
        if message is None:
            yield Silent()
            continue
        try:
            yield from reader(message)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise FormatError(f"not a message of {kind}: {_cause(error)}", path, number) from error


def _without_mark(lines: Iterable[str | None]) -> Iterator[str | None]:
    begun = False
    for line in lines:
        yield line if begun or line is None else line.removeprefix(BYTE_ORDER_MARK)
        begun = begun or line is not None


def _tail(words: Callable[[], Iterable[SpokenWord]]) -> list[Heard]:
    """The tail that a partial hypothesis has. One that is not as expected says nothing: no word depends on it."""
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        return [UnstableTail(" ".join(word.text for word in words()))]
    return []


def _whisper(line: str, path: str | None, number: int) -> list[SpokenWord]:
    if not line.strip():
        return []
    match = _WHISPER.fullmatch(line.strip())
    if match is None:
        raise FormatError("expected `begin end text`, begin and end in whole milliseconds", path, number)
    return shared_out(match[3] or "", int(match[1]) / 1000, int(match[2]) / 1000)


def _jsonl(message: Fields) -> Sequence[Heard]:
    if not _flag(message, "is_final", default=True):
        return _tail(lambda: shared_out(_text(message, "text"), None, None))
    speaker = speaker_name(message.get("speaker"))
    return shared_out(_text(message, "text"), _time(message, "start"), _time(message, "end"), speaker)


def _vosk(message: Fields) -> Sequence[Heard]:
    if "partial" in message:
        return _tail(lambda: shared_out(_text(message, "partial"), None, None))
    # With alternatives, the first is the best.
    best = message["alternatives"][0] if "alternatives" in message else message
    if "result" in best:
        return [_word(item, "word") for item in best["result"]]
    return shared_out(_text(best, "text"), None, None)


def _deepgram(message: Fields) -> Sequence[Heard]:
    # Metadata, SpeechStarted and UtteranceEnd say nothing.
    if "channel" not in message or message.get("type", "Results") != "Results":
        return []
    return _deepgram_words(message) if _flag(message, "is_final") else _tail(lambda: _deepgram_words(message))


def _deepgram_words(message: Fields) -> list[SpokenWord]:
    best = message["channel"]["alternatives"][0]
    if best.get("words"):
        return [_word(item, "punctuated_word" if "punctuated_word" in item else "word") for item in best["words"]]
    start, duration = _time(message, "start"), _time(message, "duration")
    return shared_out(_text(best, "transcript"), start, None if start is None or duration is None else start + duration)


_READERS: dict[str, Callable[[Fields], Sequence[Heard]]] = {
    "jsonl": _jsonl,
    "vosk": _vosk,
    "deepgram": _deepgram,
}


def _messages(lines: Iterable[str | None], path: str | None) -> Iterator[tuple[int, Fields | None]]:
    """JSON objects and the lines on which they begin. Vosk spreads one over several lines. None is a silence."""
    pending, begun, number, read = "", 0, 0, 0
    for line in lines:
        if line is None:
            yield number, None
            continue
        number += 1
        if not pending and not line.strip():
            continue
        begun, read = (begun, read) if pending else (number, 0)
        pending += line
        if number > begun and not line.startswith("{") and not line.rstrip().endswith("}"):
            # It goes on. To read it with every line would take for ever if it has thousands.
            if len(pending) > LONGEST_MESSAGE:
                raise FormatError(f"not JSON: no end after {LONGEST_MESSAGE} characters", path, begun)
            continue
        read += len(pending)
        try:
            message = json.loads(pending)
        except RecursionError as error:
            raise FormatError(f"not JSON: {error}", path, begun) from error
        except ValueError as error:
            # An object that is not complete may go on, unless the next one has begun.
            goes_on = pending.lstrip().startswith("{") and (number == begun or not line.startswith("{"))
            if not goes_on or len(pending) > LONGEST_MESSAGE or read > MOST_READ:
                raise FormatError(f"not JSON: {error}", path, begun) from error
            continue
        if not isinstance(message, dict):
            raise FormatError("expected a JSON object", path, begun)
        yield begun, message
        pending = ""
    if pending:
        raise FormatError("not JSON: the feed ends inside a message", path, begun)


def _word(item: Fields, key: str) -> SpokenWord:
    return SpokenWord(_text(item, key), _time(item, "start"), _time(item, "end"), speaker_name(item.get("speaker")))


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
