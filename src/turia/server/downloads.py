"""Transcripts for whoever asks, without harm to those who speak.

A transcript of eight hours takes seconds of processor time, and only the public name of a session is needed to ask for
it. So transcripts are made one after another in a thread of their own, which rests as long as it works; those who ask
for the same one share it; what was made is kept for the next; and a long queue is refused.

A transcript is sent a piece at a time, each when the one before it is taken. As one piece it had to be taken within the
seconds after which a client counts as one that takes nothing, and all of it waited in memory, once for each client.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fastapi import Response
from starlette.types import Receive, Scope, Send

from turia.schema import JsonObject
from turia.server.stores.base import DamagedError, Store
from turia.server.transcript import TranscriptRequest, transcript

PORTION = 1000
"""Events that are read at once: some ten milliseconds of work."""
PIECE = 64 * 1024
"""Bytes that are sent at once."""
KEPT_BYTES = 32 * 2**20
KEPT_FOR = 10.0
"""While a session runs, its transcript is given again for so many times the seconds that it took."""
MOST_WAITING = 32
MOST_PER_SESSION = 4
"""Transcripts that wait to be made."""


class TooManyError(Exception):
    """Too many transcripts are being made; try again later."""


class GoneError(Exception):
    """The session was deleted while its transcript was made."""


class InPieces(Response):
    """An answer that waits for its client between pieces."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for begin in range(0, len(self.body), PIECE):
            piece = bytes(self.body[begin : begin + PIECE])
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclass(frozen=True)
class _Made:
    data: bytes
    events: int
    """Of the session, when it was asked for."""
    good_until: float


_Key = tuple[str, TranscriptRequest]


class Downloads:
    """Makes transcripts. It lives on the event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, "turia-transcripts")
        self._making: dict[_Key, asyncio.Task[bytes]] = {}
        self._kept: OrderedDict[_Key, _Made] = OrderedDict()

    async def get(self, session_id: str, asked: TranscriptRequest, events: int, ended: bool) -> bytes:
        """The file of a session that has so many events."""
        key = (session_id, asked)
        made = self._kept.get(key)
        if made is not None and (made.events == events or (not ended and time.monotonic() < made.good_until)):
            self._kept.move_to_end(key)
            return made.data
        task = self._making.get(key)
        if task is None:
            waiting = Counter(session for session, _ in self._making)
            if waiting.total() >= MOST_WAITING or waiting[session_id] >= MOST_PER_SESSION:
                raise TooManyError
            task = self._making[key] = asyncio.create_task(self._make(key, events))
        # Whoever goes away must not take the others' transcript along.
        return await asyncio.shield(task)

    def forget(self, session_id: str) -> None:
        """The session is deleted, with those that follow it: nothing of them stays, nor of what is being made."""
        for held in (self._kept, self._making):
            for key in [key for key in held if key[0] == session_id or key[0].startswith(f"{session_id}.")]:
                del held[key]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _make(self, key: _Key, events: int) -> bytes:
        session_id, asked = key
        try:
            began = time.monotonic()
            work = asyncio.get_running_loop().run_in_executor(self._pool, _file, self._store, session_id, asked, events)
            data = await work
            now = time.monotonic()
            if self._making.get(key) is asyncio.current_task():
                self._keep(key, _Made(data, events, now + KEPT_FOR * (now - began)))
            return data
        finally:
            if self._making.get(key) is asyncio.current_task():
                del self._making[key]

    def _keep(self, key: _Key, made: _Made) -> None:
        self._kept.pop(key, None)
        self._kept[key] = made
        while sum(len(one.data) for one in self._kept.values()) > KEPT_BYTES and len(self._kept) > 1:
            self._kept.popitem(last=False)


def _file(store: Store, session_id: str, asked: TranscriptRequest, events: int) -> bytes:
    found = _all_events(store, session_id, events)
    return transcript(found, asked.kind, asked.side, asked.clock).encode()


def _all_events(store: Store, session_id: str, expected: int) -> Iterator[JsonObject]:
    """All that the store has, a few at a time, up to number `expected` at least."""
    last = 0
    while True:
        began = time.monotonic()
        first, events = store.events(session_id, last, PORTION)
        if not events:
            break
        yield from events
        last = first + len(events) - 1
        # As much for the others, who wait for the interpreter.
        time.sleep(time.monotonic() - began)
    if last < expected:
        raise GoneError if store.load(session_id) is None else DamagedError
