"""One speaker, several target languages."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from tests.server.fakes import fake_translators
from tests.server.redises import RedisServer
from tests.server.servers import FakeServer
from tests.server.test_app import begin, open_socket, receive, send
from tests.server.test_room_routes import ask
from turia.errors import ConfigError, InputError
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import EndOfStream, NewSession, Pause, SettingsChange
from turia.protocol.values import ProtocolError
from turia.schema import from_dict
from turia.server.admission import RefusedError
from turia.server.captions import Captions, NumberedInput, Word
from turia.server.cluster import Cluster
from turia.server.fanout import choices_of, targets_of
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager
from turia.server.stores.base import Store
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster
from turia.server.stores.sqlite import SqliteStore

NAMES = ("de-en", "de-fr", "de-es", "en-de")
CHOSEN = NewSession(model="de-en", k=2, also=("de-fr", "de-es"))


def new_manager(store: Store, cluster: Cluster | None = None, **limits: Any) -> SessionManager:
    translators = fake_translators(names=NAMES)
    return SessionManager(translators, store, Limits(**limits), Metrics(), cluster)


async def found(manager: SessionManager, session_id: str) -> ActiveSession:
    session = await manager.find(session_id)
    assert session is not None
    return session


async def join(manager: SessionManager, session_id: str) -> ActiveSession:
    session = await found(manager, session_id)
    await manager.join(session, "speaker", await manager.next_turn(session_id))
    return session


def words(text: str, first: int = 1) -> list[NumberedInput]:
    return [Word(first + i, word) for i, word in enumerate(text.split())]


async def settled(*sessions: ActiveSession) -> None:
    """Waits until all of them have ended."""
    until = time.monotonic() + 60
    while not all(session.progress.ended for session in sessions):
        assert time.monotonic() < until
        await asyncio.sleep(0.01)


async def texts(manager: SessionManager, session_id: str, kind: str) -> list[str]:
    _, events = manager.store.events(session_id, 0, 1000)
    return [str(event["word"]) for event in events if event["type"] == kind]


async def lengths(manager: SessionManager, session_id: str) -> list[int]:
    _, events = manager.store.events(session_id, 0, 1000)
    return [event["source_words"] for event in events if event["type"] == "sentence"]


def test_all_languages_get_the_words_and_the_sentences_of_the_speaker(tmp_path: Path) -> None:
    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        session_id, _ = await manager.fanout.begin("owner", CHOSEN)
        leader = await join(manager, session_id)
        assert manager.occupancy.member().streams == 3, "each language has a place"
        manager.take(leader, words("ka le. mi no pu"))
        manager.take(leader, [Pause(6), SettingsChange(7, model="en-de"), *words("one two.", 8)])
        manager.take(leader, [SettingsChange(10, model="de-en", k=1), *words("ra. so", 11), EndOfStream(13)])
        french, spanish = [await found(manager, f"{session_id}.{code}") for code in ("fr", "es")]
        await settled(leader, french, spanish)
        assert await texts(manager, session_id, "write") == ["ka", "le", "mi", "no", "pu", "one", "two", "ra", "so"]
        for code in ("fr", "es"):
            # English was spoken meanwhile, which these do not translate.
            assert await texts(manager, f"{session_id}.{code}", "source") == [
                "ka",
                "le.",
                "mi",
                "no",
                "pu",
                "ra.",
                "so",
            ]
            assert await texts(manager, f"{session_id}.{code}", "write") == ["ka", "le", "mi", "no", "pu", "ra", "so"]
            assert await lengths(manager, f"{session_id}.{code}") == [2, 3, 1, 1]
        assert french.task is not None
        assert french.task.captions.choice.policy == WaitK(1), "another latency is for all"
        with pytest.raises(ProtocolError, match="speak there"):
            await join(manager, f"{session_id}.fr")
        await manager.delete(session_id)
        assert [manager.store.load(name) for name in (session_id, f"{session_id}.fr", f"{session_id}.es")] == [None] * 3
        await manager.stop()

    asyncio.run(run())


def test_a_language_that_finds_no_place_is_refused_with_all_of_them(tmp_path: Path) -> None:
    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"), streams=2)
        await manager.start()
        with pytest.raises(RefusedError, match="all 2 streams are in use"):
            await manager.fanout.begin("owner", CHOSEN)
        assert manager.sessions() == []
        session_id, _ = await manager.fanout.begin("owner", NewSession(model="de-en", also=("de-fr",)))
        await join(manager, session_id)
        with pytest.raises(RefusedError):
            await manager.fanout.begin("owner", NewSession(model="de-en"))
        await manager.stop()

    asyncio.run(run())


def test_nothing_is_left_of_followers_that_are_gone(tmp_path: Path) -> None:
    async def spoken(manager: SessionManager) -> tuple[str, weakref.ref[Captions]]:
        session_id, _ = await manager.fanout.begin("owner", CHOSEN)
        leader, french = await join(manager, session_id), await found(manager, f"{session_id}.fr")
        assert french.task is not None
        manager.take(leader, [*words("ka le."), EndOfStream(3)])
        await settled(leader, french, await found(manager, f"{session_id}.es"))
        return session_id, weakref.ref(french.task.captions)

    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        session_id, captions = await spoken(manager)
        await manager.delete(session_id)
        await manager.stop()
        gc.collect()
        assert captions() is None

    asyncio.run(run())


def test_followers_go_on_from_the_store(tmp_path: Path) -> None:
    """The server dies between a word of the leader and the same word of its followers."""

    async def first() -> str:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        session_id, _ = await manager.fanout.begin("owner", CHOSEN)
        leader = await join(manager, session_id)
        # As if the worker had not come to them.
        manager.fanout.feed = lambda *_: None  # type: ignore[method-assign]
        manager.take(leader, words("ka le. mi no"))
        while leader.progress.inputs < 4:
            await asyncio.sleep(0.01)
        await manager.stop()
        return session_id

    async def second(session_id: str) -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        leader = await join(manager, session_id)
        manager.take(leader, [*words("pu.", 5), EndOfStream(6)])
        await settled(leader, await found(manager, f"{session_id}.fr"), await found(manager, f"{session_id}.es"))
        for code in ("fr", "es"):
            assert await texts(manager, f"{session_id}.{code}", "write") == ["ka", "le", "mi", "no", "pu"]
            assert await lengths(manager, f"{session_id}.{code}") == [2, 3]
        await manager.stop()

    async def third(session_id: str) -> None:
        """The leader has ended, and a follower had not: whoever looks for it brings it to its end."""
        store = SqliteStore(tmp_path / "sessions.sqlite")
        manager = new_manager(store)
        await manager.start()
        manager.fanout.feed = lambda *_: None  # type: ignore[method-assign]
        other, _ = await manager.fanout.begin("owner", CHOSEN)
        leader = await join(manager, other)
        manager.take(leader, [*words("ka le."), EndOfStream(3)])
        await settled(leader)
        await manager.stop()
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        await settled(await found(manager, f"{other}.fr"))
        assert await texts(manager, f"{other}.fr", "write") == ["ka", "le"]
        await manager.stop()

    session_id = asyncio.run(first())
    asyncio.run(second(session_id))
    asyncio.run(third(session_id))


def test_a_follower_catches_up_with_what_the_worker_did_not_report(tmp_path: Path) -> None:
    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        session_id, _ = await manager.fanout.begin("owner", CHOSEN)
        leader, feed = await join(manager, session_id), manager.fanout.feed
        manager.fanout.feed = lambda *_: None  # type: ignore[method-assign]
        manager.take(leader, words("ka le."))
        while leader.progress.inputs < 2:
            await asyncio.sleep(0.01)
        manager.fanout.feed = feed  # type: ignore[method-assign]
        manager.take(leader, [*words("mi no.", 3), EndOfStream(5)])
        await settled(leader, await found(manager, f"{session_id}.fr"), await found(manager, f"{session_id}.es"))
        for code in ("fr", "es"):
            assert await texts(manager, f"{session_id}.{code}", "write") == ["ka", "le", "mi", "no"]
        await manager.stop()

    asyncio.run(run())


def test_a_follower_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.fanout.AGAIN_SECONDS", 0.01)

    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        session_id, _ = await manager.fanout.begin("owner", NewSession(model="de-en", k=1, also=("de-fr",)))
        leader, french = await join(manager, session_id), await found(manager, f"{session_id}.fr")
        assert french.task is not None
        failing = french.task.captions
        failing.apply = lambda *_: 1 / 0  # type: ignore[assignment, method-assign]
        manager.take(leader, [*words("ka le."), EndOfStream(3)])
        await settled(leader, french)
        assert await texts(manager, f"{session_id}.fr", "write") == ["ka", "le"]
        await manager.stop()

    asyncio.run(run())


def test_followers_move_with_their_speaker_to_another_server(redis_server: RedisServer) -> None:
    redis_server.clear()

    async def run() -> None:
        managers = []
        for _ in range(2):
            store = RedisStore(redis_server.url)
            managers.append(new_manager(store, RedisCluster(store.client)))
            await managers[-1].start()
            await asyncio.to_thread(RedisCluster(store.client).announce, managers[-1].occupancy.member())
        one, other = managers
        session_id, _ = await one.fanout.begin("owner", CHOSEN)
        leader = await join(one, session_id)
        one.take(leader, words("ka le. mi"))
        while (await found(one, f"{session_id}.fr")).progress.events < 7:
            await asyncio.sleep(0.01)
        leader = await join(other, session_id)
        other.take(leader, [*words("no.", 4), EndOfStream(5)])
        await settled(leader, await found(other, f"{session_id}.fr"), await found(other, f"{session_id}.es"))
        for code in ("fr", "es"):
            assert await texts(other, f"{session_id}.{code}", "write") == ["ka", "le", "mi", "no"]
        for manager in managers:
            await manager.stop()

    asyncio.run(run())


@pytest.mark.slow
def test_every_language_survives_a_server_that_is_killed(tmp_path: Path) -> None:
    with FakeServer(tmp_path, models=NAMES, rooms=["hall"]) as server:
        with begin(server, k=2, also=["de-fr"], room="hall") as (begun, socket):
            send(socket, type="words", seq=1, words=[f"w{i}" for i in range(20)])
            receive(socket, "ack")
            server.kill()
        server.start()
        # The room is still there, and so is its session.
        assert ask(server, "GET", "/api/rooms/hall")[1]["session"] == begun["session"]
        path = f"/api/sessions/{begun['session']}/tickets"
        ticket = server.post(path, Authorization=f"Bearer {begun['secret']}")[1]["ticket"]
        with open_socket(server) as socket:
            send(socket, type="hello", protocol=1, ticket=ticket)
            at = receive(socket, "hello")["last_input"]
            rest = [f"w{i}" for i in range(at, 30)]
            send(socket, type="words", seq=at + 1, words=rest)
            send(socket, type="end", seq=at + 1 + len(rest))
            while json.loads(socket.recv(timeout=60))["type"] != "ack":
                pass
        said = " ".join(f"w{i}" for i in range(30))
        until = time.monotonic() + 60
        while (text := server.get(f"/api/sessions/{begun['session']}.fr/transcript.txt")[1].split()) != said.split():
            assert time.monotonic() < until, text
        assert server.faults() == []


def test_the_audience_chooses_among_latencies_that_share_the_encoder(tmp_path: Path) -> None:
    async def run() -> None:
        manager = new_manager(SqliteStore(tmp_path / "sessions.sqlite"))
        await manager.start()
        chosen = NewSession(model="de-en", k=2, also=("de-fr",), latencies=("k=3", "hold-n:n=1"))
        session_id, _ = await manager.fanout.begin("owner", chosen)
        leader = await join(manager, session_id)
        tags = ["en-x-k3", "en-x-hold-n-n-1", "fr", "fr-x-k3", "fr-x-hold-n-n-1"]
        assert targets_of(manager, leader) == [("en", session_id), *((tag, f"{session_id}.{tag}") for tag in tags)]
        followers = [await found(manager, f"{session_id}.{tag}") for tag in tags]
        assert manager.occupancy.member().streams == 6, "each latency of each language has a place"
        manager.take(leader, words("ka le mi no. pu ra so ka"))
        manager.take(leader, [SettingsChange(9, k=1), *words("le mi", 10), EndOfStream(12)])
        await settled(leader, *followers)
        for session in (leader, *followers):
            assert " ".join(await texts(manager, session.id, "write")) == "ka le mi no pu ra so ka le mi"
        late = manager.store.events(f"{session_id}.en-x-k3", 0, 1000)[1]
        assert [event["read"] for event in late if event["type"] == "write"][:2] == [3, 4]
        captions = [session.task.captions for session in (leader, *followers) if session.task is not None]
        own = [str(one.choice.policy).removesuffix(",rounding=floor") for one in captions]
        assert own == ["wait-k:k=1", "wait-k:k=3", "hold-n:n=1"] * 2, "one's own latency stays"
        assert [one.stream.settings.first_block for one in captions] == [2] * 6
        english, french = captions[0].stream.shared, captions[3].stream.shared
        assert english is captions[1].stream.shared is captions[2].stream.shared is not None
        assert french is captions[4].stream.shared is not english
        await manager.delete(session_id)
        assert [manager.store.load(name) for _, name in targets_of(manager, leader)] == [None] * 6
        await manager.stop()

    asyncio.run(run())


def test_a_latency_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        store = tmp_path / "sessions.sqlite"
        manager = new_manager(SqliteStore(store))
        await manager.start()
        session_id, _ = await manager.fanout.begin("owner", NewSession(model="de-en", k=1, latencies=("3",)))
        leader = await join(manager, session_id)
        manager.take(leader, words("ka le mi no"))
        late = await found(manager, f"{session_id}.en-x-k3")
        while len(await texts(manager, late.id, "write")) < 2:
            await asyncio.sleep(0.01)
        await manager.stop()
        manager = new_manager(SqliteStore(store))
        await manager.start()
        leader = await join(manager, session_id)
        late = await found(manager, f"{session_id}.en-x-k3")
        assert late.task is not None
        assert late.task.captions.choice.own_latency
        assert leader.task is not None
        assert late.task.captions.stream.shared is leader.task.captions.stream.shared is not None
        manager.take(leader, [SettingsChange(5, k=2), *words("pu", 6), EndOfStream(7)])
        await settled(leader, late)
        assert await texts(manager, late.id, "write") == ["ka", "le", "mi", "no", "pu"]
        assert late.task is not None
        assert late.task.captions.choice.policy == WaitK(3)
        await manager.stop()

    asyncio.run(run())


def test_latencies_that_cannot_be_are_refused() -> None:
    translators = fake_translators(names=NAMES)
    with pytest.raises(InputError, match="is the latency of the session itself"):
        choices_of(translators, NewSession(model="de-en", k=2, latencies=("2",)))
    with pytest.raises(ConfigError, match="further latencies need sentence ends"):
        NewSession(latencies=("8",), segmentation="free")
    near = ("edatt:alpha=0.123456789", "edatt:alpha=0.1234567891")
    with pytest.raises(InputError, match="differ only behind their first eight digits"):
        choices_of(translators, NewSession(model="de-en", k=2, latencies=near))
    for wrong in (["0"], ["8", "k=8"], ["never"], ["9999"], [str(k) for k in range(1, 10)]):
        with pytest.raises(InputError, match="latencies"):
            from_dict(NewSession, {"latencies": wrong})
