"""An event from end to end: python -m benchmarks.event [--hours 2] [--speed 20] [--rooms 3] [--viewers 200]

Three rooms, two languages each, for two hours, twenty times as fast as life. 200 viewers have the pages of the rooms
open before anybody speaks, and watch by the rooms' own sockets. Each minute of the event a viewer in every room loads
the page again and gets everything anew, and a speaker's connection is cut. Every other minute the operator of each room
corrects a line, puts one in, hides one, corrects the sentence that is being spoken, or pauses the captions while
somebody goes on speaking. In the middle the server is killed and started again. Then every transcript is checked
against what was said, and against what an undisturbed stream makes of it, with the operator's changes:

- text of both sides, word by word and line by line; SRT and WebVTT, all words in cues that do not overlap;
- the recording, event by event; and what each viewer got, from its first event to the end, in the same order.

The models are fakes that echo: it is the server that is tried, and one can tell what must come. Exit code 1 if anything
differs. `tests/server/test_event.py` runs it at a small size.

A speaker begins one session in the room; the server makes one for each further language. A viewer reads one of them.
"""

from __future__ import annotations

import argparse
import asyncio
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

from benchmarks.event_people import Digest, Lines, Operator, Viewer
from benchmarks.server_faults import MANY, speech
from tests.formats.cues import parse
from tests.server.fakes import fake_translators
from tests.server.servers import FakeServer, cut_connection
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
OPERATED = 2.0
"""Minutes between two things that an operator does in a room."""


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


@dataclass
class Room:
    """What is said in a room, and the session of each language."""

    name: str
    words: list[str]
    speaker: Speaker
    operator: Operator
    viewers: list[Viewer] = field(default_factory=list)
    digests: dict[str, Digest] = field(default_factory=lambda: {language: Digest() for language in LANGUAGES})
    said: int = 0
    """Words so far, without those in a pause."""
    paused_at: list[int] = field(default_factory=list)
    """How many words had been said when the operator paused the captions."""
    lost: int = 0
    """Words that were said into pauses."""
    speaking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def lines(self) -> dict[str, Lines]:
        return self.operator.lines

    async def speak(self, size: Size) -> None:
        """Says the words at their pace, whatever happens."""
        began = time.monotonic()
        while self.said < len(self.words):
            due = min(len(self.words), 1 + int((time.monotonic() - began) * size.words_per_second))
            # A machine that is slow makes the event longer; what happens in a minute of it stays the same.
            due = min(due, self.said + MOST_AT_ONCE)
            async with self.speaking:
                for number in range(self.said, due):
                    await self._say(self.words[number], number)
                self.said = max(self.said, due)
            await asyncio.sleep(STEP)
        await self.speaker.end()

    async def _say(self, word: str, number: int) -> None:
        await self.speaker.say(word, at=1000.0 * number * 60 / WORDS_PER_MINUTE)

    async def operate(self) -> None:
        """One thing that the operator does. While the captions are paused, other words are said."""
        async with self.speaking:
            if self.said == len(self.words):
                # A session that is over cannot be paused.
                return
            pauses = self.operator.pauses
            self.lost += await self.operator.act(lambda word: self._say(word, self.said))
            if self.operator.pauses > pauses:
                self.paused_at.append(self.said)

    async def listen(self) -> None:
        """What the speaker's own client gets, and one viewer of each further language who loads nothing again."""
        await asyncio.gather(*(self._listen(language) for language in LANGUAGES))

    async def _listen(self, language: str) -> None:
        digest, lines, session = self.digests[language], self.lines[language], self.speaker.languages[language]
        async with AsyncExitStack() as stack:
            is_own = session == self.speaker.session
            one = self.speaker if is_own else await stack.enter_async_context(Follower(self.speaker.url, session))
            async for event in one.events():
                digest.add(event)
                lines.take(event)


@asynccontextmanager
async def begin_room(server: FakeServer, name: str, words: list[str]) -> AsyncIterator[Room]:
    """A room whose speaker has begun."""
    first, *others = MODELS
    async with Speaker(server.url, model=first, k=K, punctuation=True, pause=0.0, also=others, room=name) as speaker:
        yield Room(name, words, speaker, Operator(server, speaker, {language: Lines() for language in LANGUAGES}))


async def hold(server: FakeServer, size: Size, seed: int) -> list[Room]:
    """The event itself."""
    chance = random.Random(seed)
    names = [room_name(number) for number in range(size.rooms)]
    viewers = [
        Viewer(server.url, names[number % size.rooms], LANGUAGES[number // size.rooms % len(LANGUAGES)])
        for number in range(size.viewers)
    ]
    for viewer in viewers:
        viewer.open()
    while not all(viewer.waited for viewer in viewers):
        await asyncio.sleep(STEP)
    async with AsyncExitStack() as stack:
        rooms = [
            await stack.enter_async_context(begin_room(server, name, speech(size.words, seed + number)))
            for number, name in enumerate(names)
        ]
        for room in rooms:
            room.viewers = [viewer for viewer in viewers if viewer.room == room.name]
        listening = [asyncio.create_task(room.listen()) for room in rooms]
        speaking = asyncio.gather(*(room.speak(size) for room in rooms))
        over, alive = asyncio.Event(), asyncio.Lock()
        disturbing = asyncio.gather(
            _reload(rooms, size, chance, over),
            _kill(server, rooms, size, over, alive),
            *(_operate(room, size, over, alive) for room in rooms),
        )
        await speaking
        over.set()
        await disturbing
        await asyncio.gather(*listening, *(viewer.wait() for viewer in viewers))
    return rooms


def room_name(number: int) -> str:
    return f"room-{number}"


async def _operate(room: Room, size: Size, over: asyncio.Event, alive: asyncio.Lock) -> None:
    for number in range(1, ceil(size.minutes / OPERATED)):
        await _until([room], number * OPERATED, over)
        if over.is_set():
            return
        # What the server has not stored when it is killed did not happen.
        async with alive:
            await room.operate()


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


async def _kill(server: FakeServer, rooms: list[Room], size: Size, over: asyncio.Event, alive: asyncio.Lock) -> None:
    await _until(rooms, size.minutes / 2, over)
    async with alive:
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)


# --- what must be there afterwards ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """The transcripts of an undisturbed stream."""

    source: list[str]
    """Lines."""
    target: list[str]


def expected(model: str, words: Sequence[str], paused_at: Sequence[int] = ()) -> Expected:
    """What is made of these words; the captions were paused behind so many of them."""
    stream = fake_translators(names=MODELS)[model].stream(policy=WaitK(K), punctuation=True)
    records: list[Record] = []
    for number, word in enumerate(words):
        if number in paused_at:
            records += stream.push_pause()
        records += stream.push(word)
    records += stream.flush()
    source, target, said = list[str](), list[str](), iter(words)
    line: list[str] = []
    for record in records:
        if isinstance(record, Write):
            line.append(record.word)
        elif isinstance(record, SentenceEnd):
            target.append(" ".join(line))
            source.append(" ".join(next(said) for _ in range(record.source_words)))
            line = []
    return Expected(source, target)


def differences(server: FakeServer, room: Room) -> list[str]:
    """What is not as it must be, in a room."""
    found = []
    shown = json.loads(server.get(f"/api/rooms/{room.name}")[1])
    if (shown["state"], shown["session"]) != ("ended", room.speaker.session):
        found.append(f"{room.name}: what the room shows")
    for model, (language, session) in zip(MODELS, room.speaker.languages.items(), strict=True):
        made = expected(model, room.words, room.paused_at)
        source = "".join(f"{line}\n" for line in made.source)
        target = room.lines[language].changed(made.target)
        path = f"/api/sessions/{session}/transcript"
        where = f"{room.name} {language}"
        if server.get(f"{path}.txt?side=source")[1] != source:
            found.append(f"{where}: the text of what was said")
        if server.get(f"{path}.txt")[1] != target:
            found.append(f"{where}: the text of the translation")
        for kind in ("srt", "vtt"):
            for side, text in (("source", source), ("target", target)):
                cues = parse(server.get(f"{path}.{kind}?side={side}")[1])
                overlap = any(before.end > after.start for before, after in pairwise(cues))
                if overlap or " ".join(cue.text for cue in cues).split() != text.split():
                    found.append(f"{where}: {kind} of the {side}")
        recorded = Digest()
        for line in server.get(f"{path}.jsonl")[1].splitlines()[1:]:
            recorded.add(json.loads(line))
        if recorded != room.digests[language]:
            found.append(f"{where}: the recording")
        watching = [viewer for viewer in room.viewers if viewer.language == language]
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
        names = [room_name(number) for number in range(size.rooms)]
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
    changes = [lines for room in rooms for lines in room.lines.values()]
    print(
        f"operators: {sum(len(lines.corrected) for lines in changes)} lines corrected or hidden, "
        f"{sum(len(lines.inserted) for lines in changes)} put in, {sum(room.operator.pauses for room in rooms)} pauses "
        f"with {sum(room.lost for room in rooms)} words"
    )
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
