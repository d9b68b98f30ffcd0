"""Two Ray nodes on this machine: the same shards as without them, streams that outlive the death of one, and replicas
that know of each other. One cluster for all tests; the last one kills a node of it."""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from benchmarks.server_faults import check, collect, speech
from tests.corpus.test_prepare import fingerprint
from tests.engine.fakes import Chaos
from tests.rays import Nodes, ray_nodes
from tests.server.fakes import FakeTranslator, fake_translators
from tests.server.redises import RedisServer, skip_without_redis
from tests.server.servers import free_port
from tests.training.toy import toy_recipe
from turia.corpus.prepare import prepare
from turia.policy.waitk import WaitK
from turia.protocol.calls import BusyError
from turia.protocol.client import Follower, Speaker
from turia.server.choices import Translators
from turia.stream.trace import Write

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="the ray extra is not installed")


def load_fakes(deployed: Any) -> Translators:
    """`chaos` writes words that depend on all that it was ever shown: a stream that lost anything writes others."""
    return {**fake_translators(), "chaos": FakeTranslator("chaos", Chaos())}


def undisturbed(words: list[str], k: int) -> list[str]:
    """What `chaos` makes of these words where nothing happens."""
    stream = load_fakes(None)["chaos"].stream(policy=WaitK(k), punctuation=True)
    records = [record for word in words for record in stream.push(word)] + stream.flush()
    return [record.word for record in records if isinstance(record, Write)]


@dataclass(frozen=True)
class Served:
    """Two nodes with a replica on each, all taking connections at the first one."""

    nodes: Nodes
    url: str
    redis: RedisServer

    def deploy(self) -> None:
        """Two replicas; those that there were go."""
        from ray import serve

        from turia.server.on_ray import Deployed, application

        deployed = Deployed(self.redis.url, streams=8, least=2, most=2)
        serve.run(application(deployed, load_fakes), name="turia", route_prefix="/")

    def get(self, path: str) -> tuple[int, str]:
        """Asks again where no answer comes, as from a replica that goes."""
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()
            except (OSError, HTTPException):
                time.sleep(0.2)

    def source_words(self) -> int:
        """All that replicas have counted, also those that are dead. Asks until one tells: one that goes may not."""
        while True:
            found = re.search(r"^turia_source_words_total (\S+)$", self.get("/metrics")[1], re.MULTILINE)
            if found is not None:
                return int(float(found[1]))
            time.sleep(0.2)

    def post(self, path: str) -> tuple[int, str]:
        request = urllib.request.Request(self.url + path, b"{}", {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()

    def wait_for(self, key: str, count: int) -> None:
        """Until all replicas together have so many, by their announcements."""
        while f'"{key}":{count},' not in self.get("/readyz")[1]:
            time.sleep(0.2)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with ray_nodes(2) as found:
        yield found


@pytest.fixture(scope="module")
def running(nodes: Nodes) -> Iterator[Served]:
    skip_without_redis()
    from ray import serve

    with RedisServer() as redis:
        port = free_port()
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        served = Served(nodes, f"http://127.0.0.1:{port}", redis)
        served.deploy()
        served.wait_for("replicas", 2)
        # It ends with its nodes: in good order it would first wait for a replica on the dead one.
        yield served


def test_shards_have_the_bytes_of_a_local_preparation(nodes: Nodes, tmp_path: Path) -> None:
    from turia.corpus.on_ray import on_ray

    local = toy_recipe(tmp_path / "local")
    spread = replace(local, data=replace(local.data, folder=tmp_path / "spread"))
    report = prepare(spread, spread=on_ray)
    assert report.train.sentences > 0
    assert fingerprint(tmp_path / "spread") == fingerprint(local.data.folder)


def test_an_error_of_the_work_is_raised_where_it_was_asked_for(nodes: Nodes) -> None:
    from turia.corpus.on_ray import on_ray

    assert list(on_ray(int, ["1", "2"])) == [1, 2]
    with pytest.raises(ValueError, match="drei"):
        list(on_ray(int, ["1", "drei"]))


def test_the_cluster_is_ready_and_serves_the_page(running: Served) -> None:
    from turia.server.on_ray import proxies_at

    assert proxies_at() == ("127.0.0.1", int(running.url.rpartition(":")[2]))
    # A replica that is late with an announcement is away for a moment.
    while (answer := running.get("/readyz"))[0] != 200 or '"capacity":16' not in answer[1]:
        time.sleep(0.2)
    assert "<title>" in running.get("/")[1]


def test_past_the_capacity_of_all_replicas_streams_are_refused_politely(running: Served) -> None:
    async def fill() -> None:
        speakers = [Speaker(running.url, k=2) for _ in range(16)]
        for speaker in speakers:
            await speaker.__aenter__()
        while not all(speaker.connected for speaker in speakers):
            await asyncio.sleep(0.05)
        await asyncio.to_thread(running.wait_for, "streams", 16)
        request = urllib.request.Request(
            f"{running.url}/api/sessions", b"{}", {"Content-Type": "application/json"}, method="POST"
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            await asyncio.to_thread(urllib.request.urlopen, request, None, 30)
        with refused.value as answer:
            assert (answer.code, answer.headers["Retry-After"]) == (503, "5")
        with pytest.raises(BusyError):
            async with Speaker(running.url, k=2):
                pass
        for speaker in speakers:
            await speaker.say("ka.")
            await speaker.end()
            check(await collect(speaker), ["ka."])
            await speaker.__aexit__(None, None, None)

    asyncio.run(fill())


def test_replicas_that_are_taken_away_send_their_streams_to_others(running: Served) -> None:
    """Deployed again, as after an update: one after another goes, long before Ray would kill it; nothing is lost."""
    running.wait_for("streams", 0)

    async def talk(seed: int, speakers: list[Speaker], enough: asyncio.Event) -> None:
        said: list[str] = []
        async with Speaker(running.url, k=2) as speaker:
            speakers.append(speaker)
            while not enough.is_set():
                said += speech(1, seed + len(said))
                await speaker.say(said[-1])
                await asyncio.sleep(0.1)
            await speaker.end()
            check(await collect(speaker), said)

    async def watch(session: str, watching: asyncio.Semaphore) -> str:
        """The type of the last message of one connection, which fails if it breaks without a word."""
        _, text = await asyncio.to_thread(running.post, f"/api/sessions/{session}/tickets")
        async with connect(f"{running.url.replace('http', 'ws')}/socket", compression=None) as socket:
            hello = {"type": "hello", "protocol": 1, "ticket": json.loads(text)["ticket"]}
            await socket.send(json.dumps(hello))
            types: list[str] = [json.loads(await socket.recv())["type"]]
            watching.release()
            types += [json.loads(message)["type"] async for message in socket]
            return next(kind for kind in reversed(types) if kind != "events")

    async def deploy_again() -> None:
        enough, watching = asyncio.Event(), asyncio.Semaphore(0)
        speakers: list[Speaker] = []
        async with asyncio.TaskGroup() as group:
            for seed in range(6):
                group.create_task(talk(1000 * seed, speakers, enough))
            await asyncio.to_thread(running.wait_for, "streams", 6)
            watched = [group.create_task(watch(speaker.session, watching)) for speaker in speakers]
            for _ in watched:
                await watching.acquire()
            await asyncio.to_thread(running.deploy)
            await asyncio.to_thread(running.wait_for, "streams", 6)
            enough.set()
        assert min(speaker.connections for speaker in speakers) > 1
        assert [done.result() for done in watched] == ["going-away"] * 6

    asyncio.run(deploy_again())
    running.wait_for("replicas", 2)


def test_streams_and_sums_outlive_the_death_of_a_node(running: Served) -> None:
    """8 streams and 8 viewers; one of two nodes dies; every stream has the text that it would have had."""
    running.wait_for("streams", 0)
    speeches = [speech(60, seed) for seed in range(8)]
    counted = running.source_words()
    ready = asyncio.Semaphore(0)
    begun, dead = asyncio.Event(), asyncio.Event()

    async def talk(words: list[str]) -> int:
        async with (
            Speaker(running.url, model="chaos", k=3) as speaker,
            Follower(running.url, speaker.session) as follower,
        ):
            collecting = asyncio.create_task(collect(follower))
            for index, word in enumerate(words):
                await speaker.say(word)
                await asyncio.sleep(0.02)
                if index == 25:
                    ready.release()
                    await begun.wait()
                if index == 40:
                    await dead.wait()
            await speaker.end()
            mine = await collect(speaker)
            assert [event["word"] for event in mine if event["type"] == "source"] == words
            assert [event["word"] for event in mine if event["type"] == "write"] == undisturbed(words, k=3)
            assert await collecting == mine
            return max(speaker.connections, follower.connections)

    async def wait_for_words(count: int) -> None:
        while await asyncio.to_thread(running.source_words) < count:
            await asyncio.sleep(0.1)

    async def all_at_once() -> list[int]:
        # A talk that fails ends the test.
        async with asyncio.TaskGroup() as group:
            talks = [group.create_task(talk(words)) for words in speeches]
            for _ in talks:
                await ready.acquire()
            await wait_for_words(counted + 8 * 26)
            # Some words come while the node dies, others when it is dead.
            begun.set()
            await asyncio.to_thread(running.nodes.kill, running.nodes.others[0])
            await asyncio.to_thread(running.wait_for, "replicas", 1)
            dead.set()
        # What the dead replica counted in its last second is lost: of the words said while it died.
        await wait_for_words(counted + 8 * (26 + 19))
        return [talked.result() for talked in talks]

    connections = asyncio.run(all_at_once())
    assert max(connections) > 1, "nobody was on the node that died"
    assert running.source_words() <= counted + 8 * 60, "words were counted twice"
    while "turia_replicas 1.0" not in running.get("/metrics")[1]:
        time.sleep(0.2)
