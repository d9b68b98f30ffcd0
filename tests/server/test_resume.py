"""Connections are cut and servers killed: no word is lost, doubled or changed on either side."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.server_faults import check, collect, speech
from tests.server.servers import FakeServer, cut_connection
from turia.protocol.client import Follower, Speaker

pytestmark = pytest.mark.slow


async def talk(server: FakeServer, words: Sequence[str], seed: int, cut: float) -> Speaker:
    """Says all words and cuts the connection after some of them; another follower is cut too."""
    chance = random.Random(seed)
    async with Speaker(server.url, k=3) as speaker, Follower(server.url, speaker.session) as follower:
        collecting = asyncio.create_task(collect(follower))
        for word in words:
            await speaker.say(word)
            if chance.random() < 0.5:
                await asyncio.sleep(0)
            if chance.random() < cut:
                await asyncio.sleep(chance.random() * 0.05)
                victim = chance.choice([speaker, follower])
                while not victim.connected:
                    await asyncio.sleep(0.02)
                cut_connection(victim)
        await speaker.end()
        mine, theirs = await collect(speaker), await collecting
    check(mine, words)
    assert theirs == mine
    return speaker


def test_cut_connections_lose_nothing(tmp_path: Path) -> None:
    async def all_at_once() -> list[Speaker]:
        return await asyncio.gather(*(talk(server, speech(80, seed), seed, cut=0.15) for seed in range(5)))

    with FakeServer(tmp_path) as server:
        speakers = asyncio.run(all_at_once())
        assert sum(speaker.connections for speaker in speakers) > 15
        assert server.faults() == []


def test_a_silent_speaker_comes_back_with_the_next_word(tmp_path: Path) -> None:
    async def be_silent_for_long() -> None:
        async with Speaker(server.url, k=2) as speaker:
            await speaker.say("ka", "le.")
            while not speaker.connections:
                await asyncio.sleep(0.01)
            # The only place is somebody else's as soon as it is not used.
            while (await asyncio.to_thread(server.post, "/api/sessions"))[0] != 201:
                await asyncio.sleep(0.05)
            while speaker.connected:
                await asyncio.sleep(0.01)
            # A slow one may have come twice before it rests.
            before = speaker.connections
            await speaker.say("mi.")
            await speaker.end()
            check(await collect(speaker), ["ka", "le.", "mi."])
            assert speaker.connections > before

    with FakeServer(tmp_path, limits={"idle": 5.0, "idle_warning": 2.5, "grace": 0.5, "streams": 1}) as server:
        asyncio.run(be_silent_for_long())
        assert server.faults() == []


def test_a_server_told_to_stop_finishes_what_it_took(tmp_path: Path) -> None:
    words = speech(30, seed=9)

    async def talk_while_it_stops() -> None:
        async with Speaker(server.url, k=2) as speaker:
            await speaker.say(*words[:20])
            assert await asyncio.to_thread(server.kill, signal.SIGTERM) == 0
            await asyncio.to_thread(server.start)
            await speaker.say(*words[20:])
            await speaker.end()
            check(await collect(speaker), words)

    with FakeServer(tmp_path, limits={"retry_after": 0.1}) as server:
        asyncio.run(talk_while_it_stops())
        assert server.faults() == []
