"""Two hubs on one Redis, in one process, so that what happens between them can be put in any order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from tests.engine.fakes import Echo
from tests.server.fakes import FakeTranslator, fake_translators
from tests.server.redises import RedisServer
from turia.engine.stream import Stream
from turia.errors import ModelError
from turia.server.hub import Hub, RefusedError
from turia.server.limits import Limits
from turia.server.messages import ProtocolError, SettingsChange
from turia.server.metrics import Metrics
from turia.server.redis_cluster import RedisCluster
from turia.server.redis_store import RedisStore
from turia.server.shared import Shared
from turia.server.store import Standing


class SlowStore(RedisStore):
    """Answers whose a session is when it is let to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()

    def standings(self, sessions: Sequence[str]) -> list[Standing | None]:
        found = super().standings(sessions)
        self.asked.set()
        assert self.may_answer.wait(60)
        return found


class Server:
    """As much of a server as knows of sessions and of other servers."""

    def __init__(self, redis_server: RedisServer) -> None:
        self.store = SlowStore(redis_server.url)
        cluster = RedisCluster(self.store.client)
        self.hub = Hub(fake_translators(), self.store, Limits(), Metrics(), cluster)
        self.shared = Shared(self.hub, cluster)

    async def __aenter__(self) -> Server:
        await self.hub.start()
        await self.shared.announce()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shared.leave()
        await self.hub.stop()

    def streams(self) -> int:
        return self.hub.member("").streams


class Unsegmented(FakeTranslator):
    """A model that came without a segmenter."""

    def stream(self, *, k: int, punctuation: bool) -> Stream:
        if not punctuation:
            raise ModelError("no segmenter")
        return super().stream(k=k, punctuation=punctuation)


@pytest.fixture(autouse=True)
def empty(redis_server: RedisServer) -> None:
    redis_server.clear()


def test_a_speaker_who_comes_back_while_the_session_is_let_go_is_not_sent_off(redis_server: RedisServer) -> None:
    """From one server to another and back, before the first has noticed that the session was gone."""

    async def back_and_forth() -> None:
        async with Server(redis_server) as here, Server(redis_server) as there:
            session, _ = await here.hub.create("owner", "de-en", 2, True)
            live, other = await here.hub.find(session), await there.hub.find(session)
            assert live is not None
            assert other is not None
            first = await here.hub.join(live, "speaker")
            second = await there.hub.join(other, "speaker")
            here.store.asked.clear()
            here.store.may_answer.clear()
            coming_back = asyncio.create_task(here.hub.join(live, "speaker"))
            await asyncio.to_thread(here.store.asked.wait)
            here.hub.let_go(live)
            here.store.may_answer.set()
            third = await coming_back
            await there.shared.follow(with_own=True)
            codes = [None if one.refusal is None else one.refusal.code for one in (first, second, third)]
            assert codes == ["replaced", "replaced", None]
            saved = here.store.load(session)
            assert saved is not None
            assert live.task is not None
            assert live.task.token == saved.token
            assert other.task is None

    asyncio.run(back_and_forth())


def test_a_session_that_was_claimed_just_after_it_was_found_to_be_ours_is_claimed_again(
    redis_server: RedisServer,
) -> None:
    async def overtake() -> None:
        async with Server(redis_server) as here:
            session, _ = await here.hub.create("owner", "de-en", 2, True)
            live = await here.hub.find(session)
            assert live is not None
            await here.hub.join(live, "speaker")
            here.store.asked.clear()
            here.store.may_answer.clear()
            coming_back = asyncio.create_task(here.hub.join(live, "speaker"))
            await asyncio.to_thread(here.store.asked.wait)
            assert here.store.claim(session) is not None
            here.hub.let_go(live)
            here.store.may_answer.set()
            speaker = await coming_back
            saved = here.store.load(session)
            assert saved is not None
            assert live.task is not None, "the next word would have nowhere to go"
            assert (speaker.refusal, live.task.token) == (None, saved.token)

    asyncio.run(overtake())


def test_a_session_that_goes_on_elsewhere_holds_no_place_here(redis_server: RedisServer) -> None:
    async def move() -> None:
        async with Server(redis_server) as here, Server(redis_server) as there:
            session, _ = await here.hub.create("owner", "de-en", 2, True)
            live, other = await here.hub.find(session), await there.hub.find(session)
            assert live is not None
            assert other is not None
            here.hub.leave(live, await here.hub.join(live, "speaker"))
            await here.shared.follow(with_own=True)
            assert here.streams() == 1, "the place is kept for a speaker who may come back"
            await there.hub.join(other, "speaker")
            await here.shared.follow(with_own=True)
            assert (here.streams(), there.streams()) == (0, 1)

    asyncio.run(move())


def test_where_no_server_is_ready_nobody_is_told_that_all_are_full(redis_server: RedisServer) -> None:
    async def ask() -> None:
        async with Server(redis_server) as here:
            await here.shared.leave()
            with pytest.raises(RefusedError, match="no server is ready"):
                await here.hub.create("owner", "de-en", 2, True)

    asyncio.run(ask())


def test_a_change_to_a_model_that_cannot_go_on_is_refused_and_the_session_stays(redis_server: RedisServer) -> None:
    async def change() -> None:
        async with Server(redis_server) as here:
            here.hub.translators = {**fake_translators(), "bare": Unsegmented("bare", Echo())}
            session, _ = await here.hub.create("owner", "de-en", 2, False)
            live = await here.hub.find(session)
            assert live is not None
            await here.hub.join(live, "speaker")
            for model, told in (("bare", "ask for punctuation"), ("none", "no such model")):
                with pytest.raises(ProtocolError, match=told):
                    here.hub.take(live, [SettingsChange(1, model=model)])
            assert live.received == 0

    asyncio.run(change())
