"""Two managers on one Redis, in one process, so that what happens between them can be put in any order."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import pytest

from tests.engine.fakes import Echo, FreeEcho
from tests.server.fakes import FakeTranslator, fake_translators
from tests.server.redises import RedisServer
from turia.engine.stream import Stream
from turia.errors import ModelError
from turia.policy.alignatt import AlignAtt
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import SettingsChange
from turia.protocol.values import ProtocolError
from turia.schema import JsonObject
from turia.server.admission import RefusedError
from turia.server.captions import Word
from turia.server.choices import StreamChoice
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.session import ActiveSession, EventReader
from turia.server.sessions import SessionManager
from turia.server.shared import Shared
from turia.server.stores.base import StoredSession, StoreError
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster

CHOICE = StreamChoice("de-en", WaitK(2), punctuation=True)


class SlowStore(RedisStore):
    """Takes a claim, and answers it, when it is let to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked = self.claimed = self.reads = 0
        self.may_ask, self.may_answer = threading.Event(), threading.Event()
        self.may_ask.set()
        self.may_answer.set()

    def claim(self, session_id: str, turn: int) -> StoredSession | None:
        self.asked += 1
        assert self.may_ask.wait(60)
        found = super().claim(session_id, turn)
        self.claimed += 1
        assert self.may_answer.wait(60)
        return found

    def events(self, session_id: str, after: int, most: int) -> tuple[int, list[JsonObject]]:
        self.reads += 1
        return super().events(session_id, after, most)


class SilentCluster(RedisCluster):
    """Does not answer what was counted: it never came, or it came and the answer was lost."""

    silent: Literal["no", "before", "after"] = "no"

    def count(self, name: str, number: int, differences: Mapping[str, float]) -> None:
        if self.silent == "before":
            raise StoreError("no answer")
        super().count(name, number, differences)
        if self.silent == "after":
            raise StoreError("no answer")


class Server:
    """As much of a server as knows of sessions and of other servers."""

    def __init__(self, redis_server: RedisServer, limits: Limits | None = None) -> None:
        self.store = SlowStore(redis_server.url)
        self.cluster = SilentCluster(self.store.client)
        self.manager = SessionManager(fake_translators(), self.store, limits or Limits(), Metrics(), self.cluster)
        self.shared = Shared(self.manager, self.cluster)

    async def __aenter__(self) -> Server:
        await self.manager.start()
        await self.shared.announce()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shared.leave()
        await self.manager.stop()

    async def begin(self, owner: str = "owner") -> str:
        session_id, _ = await self.manager.create(owner, CHOICE)
        return session_id

    async def find(self, session_id: str) -> ActiveSession:
        session = await self.manager.find(session_id)
        assert session is not None
        return session

    async def join(self, session: ActiveSession) -> EventReader:
        """A speaker who has just asked for a ticket."""
        return await self.manager.join(session, "speaker", await self.manager.next_turn(session.id))

    def streams(self) -> int:
        return self.manager.occupancy.member().streams


class Unsegmented(FakeTranslator):
    """A model that came without a segmenter."""

    def stream(self, *, punctuation: bool, **settings: Any) -> Stream:
        if not punctuation:
            raise ModelError("no segmenter")
        return super().stream(punctuation=punctuation, **settings)


@pytest.fixture(autouse=True)
def empty(redis_server: RedisServer) -> None:
    redis_server.clear()


def test_a_speaker_who_comes_back_while_the_session_is_let_go_is_not_sent_off(redis_server: RedisServer) -> None:
    """From one server to another and back, before the first has noticed that the session was gone."""

    async def back_and_forth() -> None:
        async with Server(redis_server) as here, Server(redis_server) as there:
            session_id = await here.begin()
            session, other = await here.find(session_id), await there.find(session_id)
            first = await here.join(session)
            second = await there.join(other)
            here.store.may_answer.clear()
            coming_back = asyncio.create_task(here.join(session))
            while here.store.claimed < 2:
                await asyncio.sleep(0.01)
            here.manager.let_go(session)
            here.store.may_answer.set()
            third = await coming_back
            await there.shared.follow(with_own=True)
            codes = [None if one.refusal is None else one.refusal.code for one in (first, second, third)]
            assert codes == ["replaced", "replaced", None]
            stored = here.store.load(session_id)
            assert stored is not None
            assert session.task is not None
            assert session.task.token == stored.token
            assert other.task is None

    asyncio.run(back_and_forth())


def test_what_was_counted_is_handed_in_once_also_by_a_redis_that_did_not_answer(redis_server: RedisServer) -> None:
    async def hand_in() -> None:
        async with Server(redis_server) as here:
            cases: list[Literal["no", "before", "after"]] = ["no", "before", "before", "no", "after", "no", "after"]
            for silent in cases:
                here.manager.metrics.resumes.inc()
                here.cluster.silent = silent
                with nullcontext() if silent == "no" else pytest.raises(StoreError):
                    await here.shared.announce()
            here.cluster.silent = "no"
            await here.shared.leave()
            assert here.cluster.counted()[json.dumps(["turia_resumes_total", {}])] == len(cases)

    asyncio.run(hand_in())


@pytest.mark.parametrize("home", ["there", "here"])
def test_a_claim_that_a_stalled_redis_takes_late_takes_nothing_from_a_newer_one(
    redis_server: RedisServer, home: str
) -> None:
    """The speaker gave up waiting at the stalled server, and goes on at the other, where he may have been before."""

    async def stall() -> None:
        async with Server(redis_server) as stalled, Server(redis_server) as there:
            session_id = await there.begin()
            session, other = await stalled.find(session_id), await there.find(session_id)
            if home == "here":
                there.manager.leave(other, await there.join(other))
            stalled.store.may_ask.clear()
            late = asyncio.create_task(stalled.join(session))
            while not stalled.store.asked:
                await asyncio.sleep(0.01)
            speaker = await there.join(other)
            there.manager.take(other, [Word(1, "ka.")])
            while other.progress.inputs < 1:
                await asyncio.sleep(0.01)
            stalled.store.may_ask.set()
            with pytest.raises(ProtocolError, match="goes on in another connection"):
                await late
            await there.shared.follow(with_own=True)
            there.manager.take(other, [Word(2, "le.")])
            while other.progress.inputs < 2:
                await asyncio.sleep(0.01)
            assert (speaker.refusal, session.task) == (None, None)
            await stalled.shared.follow(with_own=True)
            assert (stalled.streams(), there.streams()) == (0, 1)

    asyncio.run(stall())


def test_on_one_server_too_the_newest_turn_has_the_word(redis_server: RedisServer) -> None:
    async def overtake() -> None:
        async with Server(redis_server) as here:
            session_id = await here.begin()
            session = await here.find(session_id)
            older, newer = [await here.manager.next_turn(session_id) for _ in range(2)]
            speaker = await here.manager.join(session, "speaker", newer)
            with pytest.raises(ProtocolError, match="goes on in another connection"):
                await here.manager.join(session, "speaker", older)
            assert speaker.refusal is None
            assert session.speaker is speaker

    asyncio.run(overtake())


def test_what_was_not_stored_when_a_speaker_came_back_is_taken_again_and_once(redis_server: RedisServer) -> None:
    async def come_back() -> None:
        async with Server(redis_server) as here:
            session = await here.find(await here.begin())
            await here.join(session)
            here.manager.take(session, [Word(seq, "ka.") for seq in range(1, 30)])
            await here.join(session)
            assert session.received == session.progress.inputs <= 29
            here.manager.take(session, [Word(seq, "ka.") for seq in range(session.received + 1, 41)])
            while session.progress.inputs < 40:
                await asyncio.sleep(0.01)
            _, events = here.store.events(session.id, 0, 1000)
            assert [event["index"] for event in events if event["type"] == "source"] == list(range(40))

    asyncio.run(come_back())


def test_a_session_that_goes_on_elsewhere_holds_no_place_here(redis_server: RedisServer) -> None:
    async def move() -> None:
        async with Server(redis_server) as here, Server(redis_server) as there:
            session_id = await here.begin()
            session, other = await here.find(session_id), await there.find(session_id)
            here.manager.leave(session, await here.join(session))
            await here.shared.follow(with_own=True)
            assert here.streams() == 1, "the place is kept for a speaker who may come back"
            await there.join(other)
            await here.shared.follow(with_own=True)
            assert (here.streams(), there.streams()) == (0, 1)

    asyncio.run(move())


def test_sessions_whose_speaker_has_not_come_yet_are_counted(redis_server: RedisServer) -> None:
    async def fill(owners: list[str], limits: Limits) -> list[str]:
        """What becomes of each, all at once and faster than anybody announces anything."""
        async with Server(redis_server, limits) as here:
            asked = await asyncio.gather(*(here.begin(owner) for owner in owners), return_exceptions=True)
            assert len(redis_server_keys(here)) == sum(isinstance(one, str) for one in asked)
            return sorted(one.code if isinstance(one, RefusedError) else type(one).__name__ for one in asked)

    limits = Limits(streams=2, streams_per_key=1)
    assert asyncio.run(fill(["owner"] * 40, limits)) == ["key-capacity"] * 39 + ["str"]
    redis_server.clear()
    owners = [str(number) for number in range(40)]
    assert asyncio.run(fill(owners, limits)) == ["capacity"] * 38 + ["str"] * 2


def redis_server_keys(server: Server) -> list[str]:
    return list(server.store.client.keys("turia:*:session"))


def test_a_speaker_who_does_not_come_loses_the_place(redis_server: RedisServer) -> None:
    async def wait() -> None:
        arrive = 600.0
        async with Server(redis_server, Limits(streams=1, arrive=arrive)) as here:
            before = time.monotonic()
            session = await here.find(await here.begin())
            assert before + arrive <= session.held_until <= time.monotonic() + arrive
            with pytest.raises(RefusedError):
                await here.begin()
            # The time is over.
            session.held_until = time.monotonic()
            assert await here.begin()

    asyncio.run(wait())


def test_a_session_that_was_begun_here_is_let_go_when_its_speaker_comes_elsewhere(redis_server: RedisServer) -> None:
    async def cross() -> None:
        limits = Limits(streams=1)
        async with Server(redis_server, limits) as here, Server(redis_server, limits) as there:
            one, other = await here.begin(), await there.begin()
            # Each is kept a place where nobody comes: that keeps nobody out.
            await there.join(await there.find(one))
            await here.join(await here.find(other))
            for server in (here, there):
                await server.shared.follow(with_own=True)
                assert server.streams() == 1
                await server.shared.announce()
            with pytest.raises(RefusedError, match="all 2 streams"):
                await here.begin()
            # But a place that somebody has is not given away for it.
            third = await here.find(one)
            with pytest.raises(RefusedError, match="the only stream is in use"):
                await here.join(third)

    asyncio.run(cross())


def test_without_news_nothing_but_the_standing_is_read(redis_server: RedisServer) -> None:
    async def watch() -> None:
        async with Server(redis_server) as here, Server(redis_server) as there:
            session_id = await here.begin()
            session, seen = await here.find(session_id), await there.find(session_id)
            await here.join(session)
            await there.manager.join(seen, "viewer")
            for _ in range(4):
                await there.shared.follow(with_own=True)
            assert there.store.reads == 0
            here.manager.take(session, [Word(1, "ka.")])
            while session.progress.inputs < 1:
                await asyncio.sleep(0.01)
            for _ in range(4):
                await there.shared.follow(with_own=True)
            assert (there.store.reads, seen.progress.inputs, seen.progress.events) == (1, 1, session.progress.events)

    asyncio.run(watch())


def test_where_no_server_is_ready_nobody_is_told_that_all_are_full(redis_server: RedisServer) -> None:
    async def ask() -> None:
        async with Server(redis_server) as here:
            await here.shared.leave()
            assert await here.begin(), "it knows of itself, though its announcement is late"
            here.manager.ready = False
            with pytest.raises(RefusedError, match="the server is starting or stopping"):
                await here.begin()

    asyncio.run(ask())


def test_a_change_to_a_model_that_cannot_go_on_is_refused_and_the_session_stays(redis_server: RedisServer) -> None:
    async def change() -> None:
        async with Server(redis_server) as here:
            here.manager.translators = {**fake_translators(), "bare": Unsegmented("bare", Echo())}
            session_id, _ = await here.manager.create("owner", replace(CHOICE, punctuation=False))
            session = await here.find(session_id)
            await here.join(session)
            for model, told in (("bare", "ask for punctuation"), ("none", "no such model")):
                with pytest.raises(ProtocolError, match=told):
                    here.manager.take(session, [SettingsChange(1, model=model)])
            assert session.received == 0

    asyncio.run(change())


@pytest.mark.parametrize(
    ("first", "second", "told", "left"),
    [
        # The model cannot have the policy that has just been chosen.
        (SettingsChange(1, policy="alignatt:f=2"), SettingsChange(2, model="blind"), "cannot be run", "de-en"),
        # Nor the policy that was there, but that is just being changed.
        (SettingsChange(1, k=3), SettingsChange(2, model="blind"), None, "blind"),
        # A policy that is refused by a note is none that the next change is checked with.
        (SettingsChange(1, policy="whole", target_lag="5"), SettingsChange(2, model="bare"), None, "bare"),
        # The reverse: the policy is refused by a note of the model that has just been chosen.
        (SettingsChange(1, model="blind", k=3), SettingsChange(2, policy="alignatt:f=2"), None, "blind"),
        (SettingsChange(1, model="none"), SettingsChange(2, k=3), "no such model", "de-en"),
    ],
)
def test_a_change_is_checked_with_what_the_one_before_it_left_and_the_session_goes_on(
    redis_server: RedisServer, first: SettingsChange, second: SettingsChange, told: str | None, left: str
) -> None:
    """Though the worker has not come to the first one yet."""

    async def change() -> None:
        async with Server(redis_server) as here:
            blind = Echo()
            blind.can_look = False
            given = {"blind": FakeTranslator("blind", blind), "bare": FakeTranslator("bare", Echo())}
            here.manager.translators = {**fake_translators(), **given}
            session_id, _ = await here.manager.create("owner", replace(CHOICE, policy=AlignAtt(2)))
            session = await here.find(session_id)
            speaker = await here.join(session)
            assert session.task is not None
            session.task.captions.translators = here.manager.translators
            working, may_work = asyncio.Event(), threading.Event()
            loop = asyncio.get_running_loop()

            def hold() -> None:
                loop.call_soon_threadsafe(working.set)
                assert may_work.wait(60)

            here.manager._worker.do_when_idle(hold)
            await working.wait()
            with nullcontext() if told is None else pytest.raises(ProtocolError, match=told):
                here.manager.take(session, [first])
                here.manager.take(session, [second])
            may_work.set()
            here.manager.take(session, [Word(session.received + 1, "ka.")])
            while session.progress.inputs < session.received and speaker.refusal is None:
                await asyncio.sleep(0.01)
            assert speaker.refusal is None
            assert session.task is not None
            assert session.task.captions.choice.model == left
            assert session.task.chosen == session.task.captions.choice

    asyncio.run(change())


def test_a_glossary_that_a_session_cannot_follow_is_refused_and_the_session_goes_on(redis_server: RedisServer) -> None:
    async def change() -> None:
        async with Server(redis_server) as here:
            here.manager.translators = {"de-en": FakeTranslator("de-en", FreeEcho())}
            session_id, _ = await here.manager.create("owner", replace(CHOICE, punctuation=False, free=True))
            session = await here.find(session_id)
            await here.join(session)
            with pytest.raises(ProtocolError, match="segmentation 'free' cannot follow"):
                here.manager.take(session, [SettingsChange(1, glossary="ka\tmi")])
            assert session.received == 0

    asyncio.run(change())
