"""`turia replay`: what was recorded, shown again at its times, in the terminal or on a page.

A word is due at its own time, divided by the speed, from the beginning: delays do not add up, and the same file always
prints the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal, TextIO

from turia.errors import InputError
from turia.formats.output import TextOutput
from turia.formats.replay import TimedEvent, moments
from turia.stream.speakers import SPEAKER
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
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Writes the words of one side to `file`, each when it is due, a sentence a line."""
    word = "write" if side == "target" else "source"
    if not any(moment.event.get("type") == word for moment in played):
        raise InputError(f"nothing to replay: no {'translation' if side == 'target' else 'spoken words'} in it")
    text, began, shown = TextOutput(file), clock(), 0
    last_words = _sentence_ends(played, side)
    for moment in played:
        if moment.event.get("type") == "note" and moment.event.get("kind") == SPEAKER:
            text.speaker(str(moment.event.get("detail", "")))
        if moment.event.get("type") != word:
            continue
        ahead = began + moment.seconds / speed - clock()
        if ahead > 0:
            wait(ahead)
        text.word(str(moment.event["word"]))
        shown += 1
        if shown in last_words:
            text.end_sentence()
        file.flush()
    text.end_sentence()
    file.flush()


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
    print(f"{url_of(host, listening.getsockname()[1])}/?speed={speed:g}  (Ctrl-C ends it)", flush=True)
    config = uvicorn.Config(replay_app(recorded), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])
