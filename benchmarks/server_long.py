"""Odd words and times, thousands of sessions, a day's stream: what a server meets in years.

`python -m benchmarks.server_faults odd finished day` runs them, tests/server/test_faults.py at a small size.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import srt
import webvtt

from tests.engine.fakes import WORDS
from tests.server.servers import FakeServer
from tests.server.stores.test_base import STORED
from tests.server.test_app import begin, events_until, open_socket, receive, send
from turia.protocol.client import Speaker
from turia.protocol.values import MAX_LETTERS, MAX_SEQ
from turia.server.progress import Progress
from turia.server.stores.sqlite import KEPT_PAGES, SqliteStore

ODD_WORDS = (
    "\x00", "\x1b[2J", "\ufeff", "\u202e", "\u2066a\u2069", "\ufffe", "\U0010ffff", "\ue000", "a" + "\u0301" * 150,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0130", "\ufb03", "\ufdfa", "x" * MAX_LETTERS,
    "\U0001f600" * MAX_LETTERS, "-->", "<b>", "&amp;", "{\\an8}", "<SEP>", "\u2581", "...", "\u3002", "NaN", "\u0660",
)  # fmt: skip
ODD_TIMES = (0, -1, 1, MAX_SEQ, -MAX_SEQ, 10**15, 0.5, 5e-324)
REFUSED_TIMES = (1e300, -(2**53), 10**400, float("nan"), float("-inf"), "1", None, True)
REFUSED_WORDS = ("x" * (MAX_LETTERS + 1), "", "\ud800", "a b", 7, None, ["a"])
EVENTS_PER_SESSION = 60
GROWTH = 1.05
"""Memory that a long stream may have at its end, of what it had after a fifth."""
SLACK = 3 * 2**20


def odd(server: FakeServer, count: int) -> str:
    """Words and times that no recogniser would send, in one endless sentence; then those that must be refused."""
    chance = random.Random(count)
    with begin(server, k=2) as (begun, speaker):
        said: list[str] = []
        while len(said) < count:
            words = [chance.choice(ODD_WORDS) for _ in range(chance.randint(1, 20))]
            message: dict[str, Any] = {"words": words}
            if chance.random() < 0.7:
                message["times"] = [chance.choice(ODD_TIMES) for _ in words]
            send(speaker, type="words", seq=len(said) + 1, **message)
            said += words
            while receive(speaker, "ack")["seq"] < len(said):
                pass
        send(speaker, type="end", seq=len(said) + 1)
    _, ticket = server.post(f"/api/sessions/{begun['session']}/tickets")
    with open_socket(server) as viewer:
        send(viewer, type="hello", protocol=1, ticket=ticket["ticket"])
        events = events_until(viewer, "end")
    assert [event["word"] for event in events if event["type"] == "source"] == said
    times = [event["ms"] for event in events if "ms" in event]
    assert times == sorted(times), "our clock never goes back"
    for clock in ("server", "speaker"):
        path = f"/api/sessions/{begun['session']}/transcript"
        status, text = server.get(f"{path}.srt?clock={clock}")
        assert status == 200, text
        list(srt.parse(text))
        status, text = server.get(f"{path}.vtt?clock={clock}")
        assert status == 200, text
        webvtt.from_string(text)
    refused = [{"words": [word]} for word in REFUSED_WORDS] + [{"words": ["a"], "times": [at]} for at in REFUSED_TIMES]
    for message in refused:
        with begin(server) as (_, speaker):
            send(speaker, type="words", seq=1, **message)
            assert receive(speaker, "error")["retry"] is False, message
    return f"{count} odd words with odd times are stored and shown; {len(refused)} others were refused"


def finished(server: FakeServer, count: int) -> str:
    """A store with so many finished sessions: how long a start takes, and that their room is given back."""
    server.kill(signal.SIGTERM)
    path, now = server.data / "sessions.sqlite", time.time()
    store = SqliteStore(path)
    store._db.execute("PRAGMA synchronous = OFF")
    events = [{"type": "source", "word": "wort", "index": i, "ms": 400.0 * i} for i in range(EVENTS_PER_SESSION)]
    old = replace(STORED, progress=Progress(EVENTS_PER_SESSION, EVENTS_PER_SESSION, ended=True), state="x" * 4000)
    for number in range(count):
        touched = now if number % 2 else now - 30 * 86_400
        store.create(replace(old, id=f"session-{number}", began=touched, touched=touched), events)
    store.close()
    full, began = path.stat().st_size, time.monotonic()
    server.start()
    seconds = time.monotonic() - began
    # Those that are old enough are deleted when the server starts, beside whatever else it does.
    while (left := path.stat().st_size) > 0.7 * full + KEPT_PAGES * 4096:
        time.sleep(0.05)
    assert server.get("/api/sessions/session-1/transcript.txt")[0] == 200
    assert server.get("/api/sessions/session-0/transcript.txt")[0] == 404
    return (
        f"{count} finished sessions ({full / 1e6:.0f} MB): ready after {seconds:.1f} s; {left / 1e6:.0f} MB are left "
        f"when half of them are deleted"
    )


def day(server: FakeServer, words: int) -> str:
    """So many words in one stream, as fast as they are taken; a day at 2.5 words a second is 216,000."""

    async def speak() -> list[int]:
        marks: list[int] = []
        async with Speaker(server.url, k=3) as speaker:
            reading = asyncio.create_task(_read(speaker))
            for number, word in enumerate(_speech(words), start=1):
                await speaker.say(word)
                if number % (words // 10) == 0:
                    marks.append(server.memory())
            await speaker.end()
            assert await reading == words
        return marks

    began = time.monotonic()
    marks = asyncio.run(speak())
    seconds = time.monotonic() - began
    assert marks[-1] <= GROWTH * marks[1] + SLACK, [mark // 2**20 for mark in marks]
    return (
        f"{words} words in one stream, {words / seconds:.0f} a second: memory {marks[1] / 1e6:.0f} MB after a fifth, "
        f"{marks[-1] / 1e6:.0f} MB at the end"
    )


async def _read(speaker: Speaker) -> int:
    """Source words that came back, once the session has ended."""
    return sum([event["type"] == "source" async for event in speaker.events()])


def _speech(words: int) -> Iterator[str]:
    chance = random.Random(words)
    for _ in range(words):
        yield chance.choice(WORDS) + ("." if chance.random() < 0.1 else "")


Scenario = Callable[[FakeServer, int], str]
LONG: dict[str, tuple[Scenario, int, dict[str, float]]] = {
    "odd": (odd, 20_000, {"words_per_second": 1e6, "burst": 1e6}),
    "finished": (finished, 5000, {}),
    "day": (day, 216_000, {"words_per_second": 1e6, "burst": 1e6}),
}
