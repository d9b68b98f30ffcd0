"""The people of an event (benchmarks/event.py): viewers in a room, and an operator who changes what they see."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.server.servers import FakeServer
from turia.protocol.client import Speaker

Event = dict[str, Any]
LOST_WORDS = ("nobody", "hears", "this.")
"""Said while the captions are paused."""
MOST_SECONDS = 120.0
"""That anything may take which must come."""


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
    """Somebody on the page of a room, which may be loaded again. The page is there before anybody speaks."""

    url: str
    room: str
    language: str
    seen: Digest = field(default_factory=Digest)
    reloads: int = 0
    waited: bool = False
    """Whether it was told that nobody has begun yet."""
    slowest: float = 0.0
    """Seconds until a word that was written came here."""
    _session: str | None = None
    _have: int = 0
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
        self.seen, self.reloads, self._session, self._have = Digest(), self.reloads + 1, None, 0
        self.open()

    async def wait(self) -> None:
        assert self._page is not None
        await self._page

    async def _watch(self) -> None:
        """Comes back whenever the connection is lost, as the page does, until the session has ended."""
        address = f"{self.url.replace('http', 'ws', 1)}/socket/rooms/{self.room}"
        while True:
            try:
                async with connect(address, compression=None, max_size=2**22) as socket:
                    hello = {"type": "hello", "protocol": 1, "languages": [self.language], "have": self._have}
                    await socket.send(json.dumps(hello | ({"session": self._session} if self._session else {})))
                    async for text in socket:
                        if self._take(json.loads(text)):
                            return
            except (OSError, WebSocketException):
                await asyncio.sleep(0.3)

    def _take(self, message: dict[str, Any]) -> bool:
        """True when the session has ended."""
        if message["type"] == "room":
            self.waited = self.waited or "session" not in message
            assert self._session in (None, message.get("session")), "another session in the room"
            self._session = message.get("session")
        elif message["type"] == "hello":
            self._began, self._joined = time.time() - message["ms"] / 1000, message["ms"]
        elif message["type"] == "events":
            for number, event in enumerate(message["events"], start=message["seq"]):
                if number <= self._have:
                    continue
                assert number == self._have + 1, "a gap in the events"
                self._have = number
                self.seen.add(event)
                if event["type"] == "write" and event["ms"] > self._joined:
                    self.slowest = max(self.slowest, time.time() - self._began - event["ms"] / 1000)
                if event["type"] == "end":
                    return True
        return False

    _began: float = 0.0
    _joined: float = 0.0


@dataclass
class Lines:
    """The sentences of one language, as the operator's page knows them, and what the operator has done to them."""

    words: dict[int, int] = field(default_factory=dict)
    """Of each sentence that has begun."""
    open: int | None = None
    changes: int = 0
    """Of the text, that have come back as events."""
    muted: bool = False
    corrected: dict[int, tuple[int, str]] = field(default_factory=dict)
    inserted: list[tuple[int, str]] = field(default_factory=list)

    def take(self, event: Event) -> None:
        match event["type"]:
            case "write":
                self.open = event["sentence"]
                self.words[self.open] = self.words.get(self.open, 0) + 1
            case "sentence":
                self.open = None
            case "correction" | "insertion":
                self.changes += 1
            case "note" if event["kind"] == "muted":
                self.muted = event["detail"] == "on"

    def changed(self, lines: list[str]) -> str:
        """The text of these lines, as the operator has left them."""
        shown = []
        for number, line in enumerate(lines):
            shown += [text for before, text in self.inserted if before == number]
            words, text = self.corrected.get(number, (0, ""))
            shown.append(" ".join([*text.split(), *line.split()[words:]]))
        shown += [text for before, text in self.inserted if before >= len(lines)]
        return "".join(f"{line}\n" for line in shown if line)


@dataclass
class Operator:
    """Corrects, hides and puts in lines, in each language in turn, and pauses the captions."""

    server: FakeServer
    speaker: Speaker
    lines: dict[str, Lines]
    done: int = 0
    pauses: int = 0

    async def act(self, say: Callable[[str], Any]) -> int:
        """The next thing that the operator does; how many words were said into a pause. `say` speaks a word."""
        kind = ("correct", "insert", "hide", "open", "pause")[self.done % 5]
        language = list(self.lines)[self.done // 5 % len(self.lines)]
        lines = self.lines[language]
        self.done += 1
        if kind == "pause":
            await self._pause(say)
            return len(LOST_WORDS)
        closed = [number for number in lines.words if number != lines.open and number not in lines.corrected]
        if kind == "open" and lines.open is not None and lines.open not in lines.corrected:
            await self._correct(language, lines.open, lines.words[lines.open], f"open {self.done}")
        elif kind == "insert" and lines.words:
            newest = max(lines.words)
            text = f"[line {self.done}]"
            lines.inserted.append((newest, text))
            await self._change(language, {"type": "insert", "before": newest, "text": text})
        elif closed:
            text = "" if kind == "hide" else f"corrected {self.done}"
            words = lines.words[closed[-1]]
            await self._correct(language, closed[-1], words if kind == "hide" else min(2, words), text)
        return 0

    async def _correct(self, language: str, sentence: int, words: int, text: str) -> None:
        self.lines[language].corrected[sentence] = words, text
        message = {"type": "correct", "sentence": sentence, "words": words, "text": text}
        await self._change(language, message)

    async def _change(self, language: str, message: dict[str, Any]) -> None:
        """Asks for it, and waits until everybody has been told."""
        lines = self.lines[language]
        before = lines.changes
        await self._steer(self.speaker.languages[language], message)
        await _until(lambda: lines.changes > before, f"nobody was told of {message}")

    async def _pause(self, say: Callable[[str], Any]) -> None:
        """Words that are said before it are shown, those in it are not."""
        self.pauses += 1
        await self._acknowledged()
        for muted in (True, False):
            await self._steer(self.speaker.session, {"type": "mute", "muted": muted})
            await _until(partial(self._is_muted, muted), "nobody was told of a pause")
            if muted:
                for word in LOST_WORDS:
                    await say(word)
                await self._acknowledged()

    def _is_muted(self, muted: bool) -> bool:
        """Whether that has come to all languages."""
        return all(lines.muted == muted for lines in self.lines.values())

    async def _acknowledged(self) -> None:
        await _until(lambda: not self.speaker._unacknowledged, "words are not acknowledged")

    async def _steer(self, session: str, message: dict[str, Any]) -> None:
        """Until it is taken: a speaker who was cut off comes back at once."""
        path = f"/api/sessions/{session}/steer"
        for _ in range(200):
            status, answer = await asyncio.to_thread(self.server.post, path, message)
            if status == 202:
                return
            assert status in (409, 503), answer
            await asyncio.sleep(0.1)
        raise RuntimeError(f"the server does not take {message}: {answer}")


async def _until(is_so: Callable[[], bool], else_say: str) -> None:
    """Waits for something that must come, also on a machine that is busy."""
    for _ in range(int(MOST_SECONDS / 0.02)):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise RuntimeError(else_say)
