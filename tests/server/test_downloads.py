"""Transcripts: made once for all who ask, in a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from starlette.types import Message

from turia.protocol.events import EVENTS
from turia.schema import JsonObject
from turia.server.downloads import MOST_PER_SESSION, MOST_WAITING, PIECE, Downloads, GoneError, InPieces, TooManyError
from turia.server.stores.base import DamagedError, Store
from turia.server.transcript import Clock, Kind, Side, TranscriptRequest
from turia.stream.trace import Write

WORDS = ["eins", "zwei", "drei"]
TEXT = TranscriptRequest("txt")
KINDS: Sequence[Kind] = ("txt", "srt", "vtt")
SIDES: Sequence[Side] = ("target", "source")
CLOCKS: Sequence[Clock] = ("server", "speaker")


class Events:
    """A store with some events, whose answers wait for `go`; it remembers which threads asked."""

    def __init__(self, words: Sequence[str] = WORDS) -> None:
        self.events_kept = [EVENTS.to_json(Write(word, i, i + 1, 0, "policy", 0.0)) for i, word in enumerate(words)]
        self.go = threading.Event()
        self.go.set()
        self.asked: list[tuple[str, int]] = []
        self.threads: set[str] = set()
        self.deleted = False

    def events(self, session_id: str, after: int, most: int) -> tuple[int, list[JsonObject]]:
        self.go.wait(30)
        self.asked.append((session_id, after))
        self.threads.add(threading.current_thread().name)
        return after + 1, self.events_kept[after : after + most]

    def load(self, session_id: str) -> str | None:
        return None if self.deleted else session_id


def downloads(store: Events) -> Downloads:
    kept: Store = store  # type: ignore[assignment]
    return Downloads(kept)


def test_those_who_ask_for_the_same_share_it_and_it_is_kept() -> None:
    async def ask() -> None:
        store = Events()
        made = downloads(store)
        assert await asyncio.gather(*(made.get("a", TEXT, 3, True) for _ in range(20))) == [b"eins zwei drei\n"] * 20
        assert await made.get("a", TEXT, 3, True) == b"eins zwei drei\n"
        assert store.asked == [("a", 0), ("a", 3)]
        assert {name.rpartition("_")[0] for name in store.threads} == {"turia-transcripts"}
        made.close()

    asyncio.run(ask())


def test_an_ended_session_s_transcript_has_its_last_words() -> None:
    async def ask() -> None:
        store = Events(WORDS[:2])
        made = downloads(store)
        assert await made.get("a", TEXT, 2, False) == b"eins zwei\n"
        store.events_kept = Events().events_kept
        assert await made.get("a", TEXT, 3, True) == b"eins zwei drei\n"
        made.close()

    asyncio.run(ask())


def test_a_long_queue_is_refused_for_a_session_and_for_all() -> None:
    async def ask() -> None:
        store = Events()
        store.go.clear()
        made = downloads(store)
        asked = [TranscriptRequest(kind, side, clock) for kind in KINDS for side in SIDES for clock in CLOCKS]
        first = [asyncio.create_task(made.get("a", one, 3, True)) for one in asked]
        others = [asyncio.create_task(made.get(f"b{i}", TEXT, 3, True)) for i in range(MOST_WAITING)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        store.go.set()
        results = await asyncio.gather(*first, *others, return_exceptions=True)
        refused = [isinstance(result, TooManyError) for result in results]
        assert refused[: len(asked)].count(False) == MOST_PER_SESSION
        assert refused.count(False) == MOST_WAITING
        # There is room again.
        assert await made.get("a", asked[-1], 3, True) == b"WEBVTT\n\n"
        made.close()

    asyncio.run(ask())


def test_who_goes_away_does_not_take_the_others_transcript_along() -> None:
    async def ask() -> None:
        store = Events()
        store.go.clear()
        made = downloads(store)
        leaving, staying = (asyncio.create_task(made.get("a", TEXT, 3, True)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        store.go.set()
        assert await staying == b"eins zwei drei\n"
        made.close()

    asyncio.run(ask())


def test_a_session_that_has_fewer_events_than_it_should_is_damaged() -> None:
    async def ask() -> None:
        made = downloads(Events())
        with pytest.raises(DamagedError):
            await made.get("a", TEXT, 4, True)
        made.close()

    asyncio.run(ask())


def test_a_session_that_is_deleted_meanwhile_is_not_damaged_but_gone() -> None:
    async def ask() -> None:
        store = Events([])
        store.deleted = True
        made = downloads(store)
        with pytest.raises(GoneError):
            await made.get("a", TEXT, 4, True)
        made.close()

    asyncio.run(ask())


def test_nothing_of_a_deleted_session_is_kept() -> None:
    async def ask() -> None:
        store = Events()
        made = downloads(store)
        for session in ("a", "b"):
            await made.get(session, TEXT, 3, True)
        made.forget("a")
        assert [session for session, _ in made._kept] == ["b"]
        made.close()

    asyncio.run(ask())


def test_a_transcript_is_sent_a_piece_at_a_time() -> None:
    """As one piece, slow clients lost the end of a long one, and it lay in memory once for each client."""
    text = bytes(range(256)) * (5 * PIECE // 512)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is asked of the client")

    asyncio.run(InPieces(text)({"type": "http", "method": "GET"}, receive, send))
    start, *pieces = sent
    assert dict(start["headers"])[b"content-length"] == str(len(text)).encode()
    assert [len(piece["body"]) for piece in pieces] == [PIECE, PIECE, PIECE // 2, 0]
    assert [piece["more_body"] for piece in pieces] == [True, True, True, False]
    assert b"".join(piece["body"] for piece in pieces) == text


def test_nothing_is_kept_of_a_session_that_is_deleted() -> None:
    async def ask() -> None:
        store = Events()
        made = downloads(store)
        for name in ("a", "a.fr", "ab"):
            await made.get(name, TEXT, 3, True)
        store.go.clear()
        late = asyncio.create_task(made.get("a.es", TEXT, 3, True))
        await asyncio.sleep(0)
        made.forget("a")
        store.go.set()
        assert await late == b"eins zwei drei\n"
        before = len(store.asked)
        await made.get("ab", TEXT, 3, True)
        assert len(store.asked) == before, "another session's is still there"
        for name in ("a", "a.fr", "a.es"):
            await made.get(name, TEXT, 3, True)
        assert [name for name, _ in store.asked[before:]] == ["a", "a", "a.fr", "a.fr", "a.es", "a.es"]
        made.close()

    asyncio.run(ask())
