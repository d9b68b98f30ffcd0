"""Two servers on one Redis: sessions go from one to the other; and what becomes of streams while Redis is away."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from benchmarks.server_faults import check, collect, speech
from tests.server.redises import RedisServer
from tests.server.servers import FakeServer, cut_connection
from tests.server.test_app import begin, events_until, open_socket, receive, send
from tests.server.test_operator import steer
from turia.protocol.client import Follower, Speaker

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Pair:
    first: FakeServer
    second: FakeServer


@pytest.fixture(scope="module")
def pair(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    first, second = (FakeServer(folder, store=redis_server.url) for folder in folders)
    with ThreadPoolExecutor() as threads, ExitStack() as running:
        for server in threads.map(FakeServer.__enter__, (first, second)):
            running.push(server)
        yield Pair(first, second)


async def until_replicas(server: FakeServer, count: int) -> None:
    while f'"replicas":{count},' not in (await asyncio.to_thread(server.get, "/readyz"))[1]:
        await asyncio.sleep(0.1)


def test_metrics_add_up(pair: Pair) -> None:
    """The first test of these servers: nobody has counted anything before."""
    words = speech(30, seed=4)

    def source_words(server: FakeServer) -> float:
        lines = server.get("/metrics")[1].splitlines()
        (line,) = [line for line in lines if line.startswith("turia_source_words_total ")]
        return float(line.split()[1])

    async def talk(server: FakeServer) -> None:
        async with Speaker(server.url, k=2) as speaker:
            await speaker.say(*words)
            await speaker.end()
            check(await collect(speaker), words)

    asyncio.run(until_replicas(pair.first, 2))
    asyncio.run(talk(pair.first))
    asyncio.run(talk(pair.second))
    # Each hands in what it counted within a second.
    while min(source_words(pair.first), source_words(pair.second)) < 60:
        time.sleep(0.1)
    assert source_words(pair.first) == source_words(pair.second) == 60
    assert 'turia_delay_seconds_bucket{le="+Inf"}' in pair.first.get("/metrics")[1]
    # A server that is late with an announcement is away for a moment.
    while "turia_replicas 2.0" not in pair.first.get("/metrics")[1]:
        time.sleep(0.1)
    while json.loads(pair.first.get("/readyz")[1])["capacity"] != 32:
        time.sleep(0.1)


def test_a_session_moves_between_servers_and_a_viewer_elsewhere_sees_all_of_it(pair: Pair) -> None:
    words = speech(60, seed=1)

    async def talk() -> None:
        await until_replicas(pair.first, 2)
        async with Speaker(pair.first.url, k=2) as speaker, Follower(pair.second.url, speaker.session) as follower:
            collecting = asyncio.create_task(collect(follower))
            for index, word in enumerate(words):
                if index % 15 == 14:
                    # To the other server, and back: what a server has in memory from an earlier visit must not count.
                    speaker.url = pair.second.url if speaker.url == pair.first.url else pair.first.url
                    while not speaker.connected:
                        await asyncio.sleep(0.02)
                    cut_connection(speaker)
                await speaker.say(word)
                await asyncio.sleep(0.01)
            await speaker.end()
            mine = await collect(speaker)
            check(mine, words)
            assert await collecting == mine
            assert speaker.connections >= 4

    asyncio.run(talk())
    assert pair.first.faults() == pair.second.faults() == []


def test_a_session_that_is_deleted_at_one_server_ends_for_those_at_the_other(pair: Pair) -> None:
    with begin(pair.first) as (begun, speaker):
        send(speaker, type="words", seq=1, words=["ka"])
        receive(speaker, "ack")
        _, answer = pair.second.post(f"/api/sessions/{begun['session']}/tickets")
        with open_socket(pair.second) as viewer:
            send(viewer, type="hello", protocol=1, ticket=answer["ticket"])
            events_until(viewer, "source")
            status, _ = pair.first.headers(f"/api/sessions/{begun['session']}", "DELETE")
            assert status == 204
            assert receive(viewer, "error")["code"] == "deleted"
        assert receive(speaker, "error")["code"] == "deleted"


def test_an_operator_at_either_server_corrects_and_steers(pair: Pair) -> None:
    with begin(pair.first) as (begun, speaker):
        session = begun["session"]
        send(speaker, type="words", seq=1, words=["ka", "le.", "mi"])
        receive(speaker, "ack")
        _, answer = pair.second.post(f"/api/sessions/{session}/tickets")
        with open_socket(pair.second) as viewer:
            send(viewer, type="hello", protocol=1, ticket=answer["ticket"])
            assert steer(pair.second, session, type="correct", sentence=0, words=2, text="Kalle.")[0] == 202
            assert steer(pair.second, session, type="insert", before=1, text="[Applause]")[0] == 202
            assert events_until(viewer, "insertion")[-1]["text"] == "[Applause]"
            # What is wrong is told as by the server that has the session.
            status, answer = steer(pair.second, session, type="correct", sentence=9, words=1, text="a")
            assert (status, answer["detail"]) == (422, "there is no sentence 9 yet; the newest is 1")
            assert steer(pair.second, session, type="settings", k=1)[0] == 202
            assert steer(pair.second, session, type="end")[0] == 202
            events_until(viewer, "end")
        # It has ended, and the first server still has it in memory.
        assert steer(pair.second, session, type="pause")[0] == 409
        assert steer(pair.second, session, type="correct", sentence=1, words=1, text="Mi!")[0] == 202
        while "Mi!" not in pair.second.get(f"/api/sessions/{session}/transcript.txt")[1]:
            time.sleep(0.1)
    for server in (pair.first, pair.second):
        assert server.get(f"/api/sessions/{session}/transcript.txt")[1] == "Kalle.\n[Applause]\nMi!\n"
    assert pair.first.faults() == pair.second.faults() == []


def test_an_operator_corrects_a_session_that_no_server_has(pair: Pair) -> None:
    _, begun = pair.first.post("/api/sessions")
    session = begun["session"]
    assert steer(pair.second, session, type="insert", before=0, text="Soon.")[0] == 202
    assert pair.first.get(f"/api/sessions/{session}/transcript.txt")[1] == "Soon.\n"
    status, answer = steer(pair.second, session, type="pause")
    assert (status, answer["detail"]) == (409, "nobody speaks in this session now; its text can be corrected")
    # Whoever comes to speak goes on behind it.
    with open_socket(pair.first) as speaker:
        send(speaker, type="hello", protocol=1, ticket=begun["ticket"])
        receive(speaker, "hello")
        send(speaker, type="words", seq=1, words=["ka."])
        events_until(speaker, "sentence")
    assert pair.first.get(f"/api/sessions/{session}/transcript.txt")[1] == "Soon.\nka\n"


def test_a_killed_servers_sessions_go_on_at_the_other(pair: Pair) -> None:
    words = speech(50, seed=2)

    async def talk() -> None:
        async with Speaker(pair.first.url, k=3) as speaker, Follower(pair.second.url, speaker.session) as follower:
            collecting = asyncio.create_task(collect(follower))
            await speaker.say(*words[:25])
            while not speaker.connected:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(pair.first.kill)
            speaker.url = pair.second.url
            await speaker.say(*words[25:])
            await speaker.end()
            mine = await collect(speaker)
            check(mine, words)
            assert await collecting == mine

    asyncio.run(talk())
    pair.first.start()
    assert pair.second.faults() == []


def test_who_comes_when_the_beginning_is_gone_is_told_the_settings(pair: Pair, redis_server: RedisServer) -> None:
    with begin(pair.first, k=2) as (begun, speaker):
        send(speaker, type="settings", seq=1, k=5)
        send(speaker, type="words", seq=2, words=["ka", "le", "mi."])
        events_until(speaker, "sentence")
        with redis.Redis(port=redis_server.port) as client:
            # As the journal is cut, but to the entry.
            client.xtrim(f"turia:{{{begun['session']}}}:events", maxlen=3, approximate=False)
            last = client.xinfo_stream(f"turia:{{{begun['session']}}}:events")["last-generated-id"]
        _, ticket = pair.second.post(f"/api/sessions/{begun['session']}/tickets")
        with open_socket(pair.second) as viewer:
            send(viewer, type="hello", protocol=1, ticket=ticket["ticket"])
            message = receive(viewer, "events")
    settings, *rest = message["events"]
    assert settings.items() >= {"type": "settings", "model": "de-en", "k": 5}.items()
    assert [event["type"] for event in rest] == ["write", "write", "sentence"]
    # Events keep their numbers: the settings have that of the last which is not there.
    assert message["seq"] + 3 == int(last.partition(b"-")[0])


def test_a_server_that_stops_is_not_ready_though_others_are(
    pair: Pair, redis_server: RedisServer, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    with FakeServer(tmp_path, store=redis_server.url, hold=str(hold), limits={"drain": 120}) as server:
        with begin(server, k=2) as (_, socket), ThreadPoolExecutor(1) as pool:
            hold.touch()
            # A whole sentence: the model is asked for it, and is held. A server with nothing to do would go at once.
            send(socket, type="words", seq=1, words=["ka", "le", "mi."])
            send(socket, type="ping")
            receive(socket, "pong")
            stopping = pool.submit(server.kill, signal.SIGTERM)
            receive(socket, "going-away")
            answers = server.status("/readyz"), pair.first.status("/readyz"), server.status("/livez")
            assert not stopping.done()
            hold.unlink()
            assert stopping.result() == 0
        assert answers == (503, 200, 200)


def test_streams_wait_for_a_redis_that_is_killed_or_slow_and_new_ones_are_refused(
    pair: Pair, redis_server: RedisServer
) -> None:
    words = speech(60, seed=3)

    async def talk() -> None:
        async with Speaker(pair.first.url, k=2) as speaker:
            await speaker.say(*words[:20])
            while not speaker.connected:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(redis_server.kill)
            await speaker.say(*words[20:30])
            status, answer = await asyncio.to_thread(pair.first.post, "/api/sessions")
            assert (status, answer["code"]) == (503, "store")
            assert (await asyncio.to_thread(pair.first.get, "/readyz"))[0] == 503
            assert (await asyncio.to_thread(pair.first.get, "/livez"))[0] == 200
            # After some seconds of waiting the speaker is sent off, and comes back by itself.
            while speaker.connected:
                await asyncio.sleep(0.05)
            await asyncio.to_thread(redis_server.start)
            await speaker.say(*words[30:40])
            await asyncio.to_thread(redis_server.pause)
            await speaker.say(*words[40:50])
            await asyncio.sleep(1.0)
            await asyncio.to_thread(redis_server.go_on)
            await speaker.say(*words[50:])
            await speaker.end()
            check(await collect(speaker), words)
            assert speaker.connections >= 2

    asyncio.run(talk())
    assert pair.first.faults() == []
    assert 'turia_refusals_total{code="store"}' in pair.first.get("/metrics")[1]
