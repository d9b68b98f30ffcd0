"""`turia send`: words from a file or a pipe to a running `turia serve`, its translation to a file.

A thread reads the words, because a read that waits for the speaker cannot be interrupted. The session ends when the
words do, at a line that cannot be read, or at a signal. Whatever was said until then is still translated.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TextIO

from turia.formats.output import TextOutput
from turia.protocol.client import Speaker
from turia.protocol.events import checked_event
from turia.stream.silence import PAUSE, TimeGaps
from turia.stream.speakers import SPEAKER, SpeakerChanges
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail
from turia.system.signals import StopRequests

AHEAD = 100
"""Words read before the speaker has taken them."""

Read = Heard | Exception | None
"""What was heard, or why there is no more."""


async def send(
    speaker: Speaker,
    words: Iterable[Heard],
    file: TextIO,
    at_signal: Callable[[], object] | None = None,
    pause: float = PAUSE,
) -> int:
    """Says `words` and writes their translation, a sentence a line; gives the signal that ended it early, or 0.

    With `at_signal`, a signal calls that, and `words` end by themselves. `pause` is the gap, in seconds between the
    times of two words, that closes a sentence; 0 for none.
    """
    loop = asyncio.get_running_loop()
    read: asyncio.Queue[Read] = asyncio.Queue(AHEAD)
    threading.Thread(target=_read, args=(words, read, loop), daemon=True).start()
    talking = asyncio.create_task(_talk(speaker, read, TimeGaps(pause), SpeakerChanges()))
    stop = StopRequests(at_signal or (lambda: loop.call_soon_threadsafe(talking.cancel)))
    with stop.noted():
        try:
            await _write(speaker, file)
            with suppress(asyncio.CancelledError):
                await talking
        finally:
            talking.cancel()
            # The error that ended the session is raised by `_write`; the one that `_talk` gets from it adds nothing.
            await asyncio.gather(talking, return_exceptions=True)
    return stop.number


def _read(words: Iterable[Heard], read: asyncio.Queue[Read], loop: asyncio.AbstractEventLoop) -> None:
    def put(item: Read) -> None:
        putting = read.put(item)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except RuntimeError:
            # The loop has ended and did not begin it, of which Python would complain.
            putting.close()
            raise

    # Once the conversation is over, nobody takes more words.
    with suppress(RuntimeError, concurrent.futures.CancelledError):
        try:
            for word in words:
                put(word)
        except Exception as error:
            put(error)
        else:
            put(None)


async def _talk(speaker: Speaker, read: asyncio.Queue[Read], gaps: TimeGaps, speakers: SpeakerChanges) -> None:
    try:
        while (item := await read.get()) is not None:
            match item:
                case SpokenWord(text, end=end):
                    name, paused = speakers.before(item), gaps.before(item)
                    if name is not None or paused:
                        await speaker.pause(speaker=name)
                    await speaker.say(text, at=None if end is None else 1000 * end)
                case UnstableTail(text):
                    await speaker.partial(text)
                case Silent():
                    await speaker.pause()
                case _:
                    raise item
    finally:
        await speaker.end()


async def _write(speaker: Speaker, file: TextIO) -> None:
    """The events of the session up to its end."""
    text = TextOutput(file)
    async for sent in speaker.events():
        event = checked_event(sent)
        kind = event.get("type")
        if kind == "write":
            text.word(event["word"])
        elif kind in ("sentence", "end"):
            text.end_sentence()
        elif kind == "note" and event["kind"] == SPEAKER:
            text.speaker(event["detail"])
        file.flush()
