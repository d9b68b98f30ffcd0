"""`turia replay`: what was recorded, shown again at its times, in the terminal or on a page.

A word is due at its own time, divided by the speed, from the beginning: delays do not add up, and the same file always
prints the same. A terminal cannot take a word back, so lines are printed as an operator has left them: corrected words
at the times of those that they stand for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal, TextIO

from turia.errors import ConfigError, FormatError, InputError
from turia.formats.output import TextOutput
from turia.formats.replay import TimedEvent, moments
from turia.protocol.corrections import Correction, Insertion
from turia.protocol.events import EVENTS
from turia.schema import JsonObject
from turia.server.corrected import Shown, ShownWord, corrected
from turia.stream.speakers import SPEAKER
from turia.stream.trace import Note, SentenceEnd
from turia.system.files import check_plain

Side = Literal["target", "source"]
MOST_BYTES = 256 * 2**20


def read_moments(path: Path) -> list[TimedEvent]:
    """The moments of a file; one that cannot be read is an error for people."""
    try:
        check_plain(path, MOST_BYTES)
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not text in UTF-8; expected a trace or a recording") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return moments(text.split("\n"), str(path))


def replay(
    played: Sequence[TimedEvent],
    file: TextIO,
    speed: float = 1.0,
    side: Side = "target",
    as_written: bool = False,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Writes the words of one side to `file`, each when it is due, a sentence a line. Of a translation, they are those
    that an operator has left, or all of them `as_written`."""
    word = "write" if side == "target" else "source"
    if not any(moment.event.get("type") == word for moment in played):
        raise InputError(f"nothing to replay: no {'translation' if side == 'target' else 'spoken words'} in it")
    text, began = TextOutput(file), clock()
    shown: Iterable[Shown | Correction | Insertion] = _shown(played, side)
    for item in corrected(item for item in shown if not as_written or not isinstance(item, Correction | Insertion)):
        if isinstance(item, ShownWord):
            ahead = began + item.ms / 1000 / speed - clock()
            if ahead > 0:
                wait(ahead)
            text.word(item.word)
        elif isinstance(item, Note):
            text.speaker(item.detail)
        else:
            text.end_sentence()
        file.flush()
    text.end_sentence()
    file.flush()


def _shown(played: Sequence[TimedEvent], side: Side) -> Iterator[Shown | Correction | Insertion]:
    """The words of a side with their times, the ends of its sentences, who speaks, and what an operator has changed."""
    last_words, words, sentence = _sentence_ends(played, side), 0, 0
    for moment in played:
        event = moment.event
        match event.get("type"):
            case "write" if side == "target":
                words += 1
                sentence = _number(event, "sentence")
                yield ShownWord(str(event["word"]), 1000 * moment.seconds, sentence)
            case "source" if side == "source":
                words += 1
                yield ShownWord(str(event["word"]), 1000 * moment.seconds)
                if words in last_words:
                    yield SentenceEnd(0, 0, 0, "")
            case "sentence" if side == "target":
                yield SentenceEnd(_number(event, "sentence"), 0, 0, "")
            case "note" if event.get("kind") == SPEAKER:
                yield Note(SPEAKER, _number(event, "sentence"), str(event.get("detail", "")))
            case "correction" | "insertion" if side == "target":
                try:
                    change = EVENTS.from_json(event)
                except ConfigError as error:
                    raise FormatError(f"a {event['type']} cannot be read: {error}") from error
                if isinstance(change, Correction | Insertion):
                    yield change


def _number(event: JsonObject, key: str) -> int:
    value = event.get(key, 0)
    if not isinstance(value, int):
        raise FormatError(f"{key} is {value!r}, expected a number")
    return value


def _sentence_ends(played: Sequence[TimedEvent], side: Side) -> set[int]:
    """After how many words of a side its sentences end. Of the source that was known only some words later."""
    key = "target_words" if side == "target" else "source_words"
    counts = [int(moment.event[key]) for moment in played if moment.event.get("type") == "sentence"]
    return set(accumulate(counts))


def serve_page(recorded: Path, speed: float, port: int) -> None:
    """Serves the page that plays the file, to this machine alone, until Ctrl-C."""
    import uvicorn

    from turia.server.replay import replay_app
    from turia.server.serve import listen, url_of

    host = "127.0.0.1"
    listening = listen(host, port)
    listening.listen()  # who opens the address at once waits for the page
    print(f"{url_of(host, listening.getsockname()[1])}/?speed={speed:g}  (Ctrl-C ends it)", flush=True)
    config = uvicorn.Config(replay_app(recorded), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])
