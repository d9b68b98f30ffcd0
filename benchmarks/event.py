"""An event from end to end: python -m benchmarks.event [--hours 2] [--speed 20] [--rooms 3] [--viewers 200]

Three rooms, two languages each, for two hours, twenty times as fast as life. 200 viewers watch. Each minute of the
event a viewer in every room loads the page again and gets everything anew, and a speaker's connection is cut. In the
middle the server is killed and started again. Then every transcript is checked against what was said, and against what
an undisturbed stream makes of it:

- text of both sides, word by word and line by line; SRT and WebVTT, all words in cues that do not overlap;
- the recording, event by event; and what each viewer got, from its first event to the end, in the same order.

The models are fakes that echo: it is the server that is tried, and one can tell what must come. Exit code 1 if anything
differs. `tests/server/test_event.py` runs it at a small size.

A speaker begins one session in the room; the server makes one for each further language. A viewer reads one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import logging
import random
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks.server_faults import MANY, speech
from tests.formats.cues import parse
from tests.server.fakes import fake_translators
from tests.server.servers import FakeServer, cut_connection
from turia.formats.output import TextOutput
from turia.policy.waitk import WaitK
from turia.protocol.client import Follower, Speaker
from turia.stream.trace import Record, SentenceEnd, Write

WORDS_PER_MINUTE = 150
K = 3
MODELS = ("de-en", "de-fr")
LANGUAGES = tuple(model.rpartition("-")[2] for model in MODELS)
STEP = 0.1
"""Seconds between two portions of words."""
MOST_AT_ONCE = WORDS_PER_MINUTE // 2
"""Words of a portion."""
Event = dict[str, Any]


@dataclass(frozen=True)
class Size:
    minutes: float
    speed: float
    rooms: int
    viewers: int

    @property
    def words(self) -> int:
        """Of each room."""
        return max(1, round(self.minutes * WORDS_PER_MINUTE))

    @property
    def words_per_second(self) -> float:
        return WORDS_PER_MINUTE / 60 * self.speed


class Digest:
    """Events in short: two are the same if all events were, in the same order."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.sha256()

    def add(self, event: Event) -> None:
        self.count += 1
        self._hash.update(json.dumps(event, sort_keys=True).encode() + b"\n")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digest) and self._hash.digest() == other._hash.digest()

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Viewer:
    """Somebody in the audience, who may load the page again."""

    url: str
    session: str
    seen: Digest = field(default_factory=Digest)
    reloads: int = 0
    slowest: float = 0.0
    """Seconds until a word that was written came here."""
    _page: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._page = asyncio.create_task(self._watch())

    async def reload(self) -> None:
        """Nothing is kept: all comes again."""
        assert self._page is not None
        if self._page.done():
            return
        self._page.cancel()
        await asyncio.gather(self._page, return_exceptions=True)
        self.seen, self.reloads = Digest(), self.reloads + 1
        self.open()

    async def wait(self) -> None:
        assert self._page is not None
        await self._page

    async def _watch(self) -> None:
        async with Follower(self.url, self.session) as follower:
            joined = None
            async for event in follower.events():
                self.seen.add(event)
                joined = follower.welcomed_ms if joined is None else joined
                if event["type"] == "write" and event["ms"] > joined and follower.began is not None:
                    self.slowest = max(self.slowest, time.time() - follower.began - event["ms"] / 1000)


@dataclass
class Room:
    """What is said in a room, and the session of each language."""

    name: str
    words: list[str]
    speaker: Speaker
    viewers: list[Viewer] = field(default_factory=list)
    digests: dict[str, Digest] = field(default_factory=dict)
    said: int = 0
    """Words so far."""

    async def speak(self, size: Size) -> None:
        """Says the words at their pace, whatever happens."""
        began = time.monotonic()
        while self.said < len(self.words):
            due = min(len(self.words), 1 + int((time.monotonic() - began) * size.words_per_second))
            # A machine that is slow makes the event longer; what happens in a minute of it stays the same.
            due = min(due, self.said + MOST_AT_ONCE)
            for number in range(self.said, due):
                await self.speaker.say(self.words[number], at=1000.0 * number * 60 / WORDS_PER_MINUTE)
            self.said = due
            await asyncio.sleep(STEP)
        await self.speaker.end()

    async def listen(self) -> None:
        """What the speaker's own client gets, and one viewer of each further language who loads nothing again."""
        await asyncio.gather(*(self._listen(language) for language in LANGUAGES))

    async def _listen(self, language: str) -> None:
        digest, session = self.digests.setdefault(language, Digest()), self.speaker.languages[language]
        if session == self.speaker.session:
            async for event in self.speaker.events():
                digest.add(event)
            return
        async with Follower(self.speaker.url, session) as follower:
            async for event in follower.events():
                digest.add(event)


@asynccontextmanager
async def begin_room(url: str, name: str, words: list[str]) -> AsyncIterator[Room]:
    """A room whose speaker has begun."""
    first, *others = MODELS
    async with Speaker(url, model=first, k=K, punctuation=True, pause=0.0, also=others, room=name) as speaker:
        yield Room(name, words, speaker)


async def hold(server: FakeServer, size: Size, seed: int) -> list[Room]:
    """The event itself."""
    chance = random.Random(seed)
    async with AsyncExitStack() as stack:
        rooms = [
            await stack.enter_async_context(begin_room(server.url, f"room-{i}", speech(size.words, seed + i)))
            for i in range(size.rooms)
        ]
        for number in range(size.viewers):
            room = rooms[number % size.rooms]
            language = LANGUAGES[number // size.rooms % len(LANGUAGES)]
            viewer = Viewer(server.url, room.speaker.languages[language])
            viewer.open()
            room.viewers.append(viewer)
        listening = [asyncio.create_task(room.listen()) for room in rooms]
        speaking = asyncio.gather(*(room.speak(size) for room in rooms))
        over = asyncio.Event()
        disturbing = asyncio.gather(_reload(rooms, size, chance, over), _kill(server, rooms, size, over))
        await speaking
        over.set()
        await disturbing
        await asyncio.gather(*listening, *(viewer.wait() for room in rooms for viewer in room.viewers))
    return rooms


async def _reload(rooms: list[Room], size: Size, chance: random.Random, over: asyncio.Event) -> None:
    """Each minute of the event, until it is over. Nobody is left without a page: what has begun is done to its end."""
    for minute in range(1, ceil(size.minutes)):
        await _until(rooms, minute, over)
        if over.is_set():
            return
        for room in rooms:
            if room.viewers:
                await chance.choice(room.viewers).reload()
        cut_connection(chance.choice(rooms).speaker)


async def _until(rooms: list[Room], minute: float, over: asyncio.Event) -> None:
    """Until so much has been said in all rooms, or the event is over."""
    while min(room.said for room in rooms) < minute * WORDS_PER_MINUTE and not over.is_set():
        await asyncio.sleep(STEP / 2)


async def _kill(server: FakeServer, rooms: list[Room], size: Size, over: asyncio.Event) -> None:
    await _until(rooms, size.minutes / 2, over)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


# --- what must be there afterwards ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """The transcripts of an undisturbed stream."""

    source: str
    target: str


def expected(model: str, words: Sequence[str]) -> Expected:
    stream = fake_translators(names=MODELS)[model].stream(policy=WaitK(K), punctuation=True)
    records: list[Record] = [record for word in words for record in stream.push(word)]
    records += stream.flush()
    target, source, said = io.StringIO(), io.StringIO(), iter(words)
    output = TextOutput(target)
    for record in records:
        if isinstance(record, Write | SentenceEnd):
            output.write(record)
        if isinstance(record, SentenceEnd):
            source.write(" ".join(next(said) for _ in range(record.source_words)) + "\n")
    return Expected(source.getvalue(), target.getvalue())


def differences(server: FakeServer, room: Room) -> list[str]:
    """What is not as it must be, in a room."""
    found = []
    shown = json.loads(server.get(f"/api/rooms/{room.name}")[1])
    if (shown["state"], shown["session"]) != ("ended", room.speaker.session):
        found.append(f"{room.name}: what the room shows")
    for model, (language, session) in zip(MODELS, room.speaker.languages.items(), strict=True):
        must = expected(model, room.words)
        path = f"/api/sessions/{session}/transcript"
        where = f"{room.name} {language}"
        if server.get(f"{path}.txt?side=source")[1] != must.source:
            found.append(f"{where}: the text of what was said")
        if server.get(f"{path}.txt")[1] != must.target:
            found.append(f"{where}: the text of the translation")
        for kind in ("srt", "vtt"):
            for side, text in (("source", must.source), ("target", must.target)):
                cues = parse(server.get(f"{path}.{kind}?side={side}")[1])
                overlap = any(before.end > after.start for before, after in pairwise(cues))
                if overlap or " ".join(cue.text for cue in cues).split() != text.split():
                    found.append(f"{where}: {kind} of the {side}")
        recorded = Digest()
        for line in server.get(f"{path}.jsonl")[1].splitlines()[1:]:
            recorded.add(json.loads(line))
        if recorded != room.digests[language]:
            found.append(f"{where}: the recording")
        watching = [viewer for viewer in room.viewers if viewer.session == session]
        wrong = sum(viewer.seen != room.digests[language] for viewer in watching)
        if wrong:
            found.append(f"{where}: what {wrong} of {len(watching)} viewers got")
    return found


def run(size: Size, seed: int = 1) -> list[str]:
    """Holds the event; prints what happened, and gives what is wrong."""
    # A server that is away is what is tried here.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        limits = {**MANY, "words_per_second": 20 * size.words_per_second}
        names = [f"room-{i}" for i in range(size.rooms)]
        with FakeServer(Path(folder), limits=limits, models=MODELS, rooms=names) as server:
            began = time.monotonic()
            rooms = asyncio.run(hold(server, size, seed))
            seconds = time.monotonic() - began
            wrong = [difference for room in rooms for difference in differences(server, room)]
            wrong += [f"the server's log: {line}" for line in server.faults()]
    viewers = [viewer for room in rooms for viewer in room.viewers]
    reached = 60 * size.minutes / seconds
    print(f"{size.minutes:g} minutes in {seconds:.0f} s: {reached:.1f} times the speed of life ({size.speed:g} wanted)")
    print(f"{len(rooms)} rooms, {len(LANGUAGES)} languages, {size.words} words in each room")
    print(f"{len(viewers)} viewers, {sum(viewer.reloads for viewer in viewers)} reloads, 1 kill of the server")
    print(f"{sum(room.speaker.connections - 1 for room in rooms)} reconnections of speakers")
    events = [digest.count for room in rooms for digest in room.digests.values()]
    print(f"{sum(events)} events in {len(events)} sessions")
    slowest = max((viewer.slowest for viewer in viewers), default=0.0)
    print(f"slowest word at a viewer: {slowest:.2f} s, the kill included")
    for difference in wrong:
        print(f"WRONG: {difference}")
    if not wrong:
        print("every transcript, recording and viewer is right")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--hours", type=float, default=2.0, help="length of the event")
    parser.add_argument("--speed", type=float, default=20.0, help="how many times as fast as life")
    parser.add_argument("--rooms", type=int, default=3)
    parser.add_argument("--viewers", type=int, default=200, help="in all rooms together")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return 1 if run(Size(60 * given.hours, given.speed, given.rooms, given.viewers), given.seed) else 0


if __name__ == "__main__":
    raise SystemExit(main())
