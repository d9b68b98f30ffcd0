"""Connections are cut and servers killed: no word is lost, doubled or changed on either side."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.engine.fakes import WORDS
from tests.server.servers import FakeServer
from turia.client import Follower, Speaker

Events = list[dict[str, Any]]


def speech(length: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return [chosen.choice(WORDS) + ("." if chosen.random() < 0.15 else "") for _ in range(length)]


def check(events: Events, words: Sequence[str]) -> None:
    """All words came in, in order; the echo wrote all of them, in order; counts have no hole."""
    said = [event for event in events if event["type"] == "source"]
    wrote = [event for event in events if event["type"] == "write"]
    assert [event["word"] for event in said] == list(words)
    assert [event["index"] for event in said] == list(range(len(words)))
    assert [event["word"] for event in wrote] == [word.rstrip(".") for word in words]
    assert [event["index"] for event in wrote] == list(range(len(words)))
    assert events[-1].items() >= {"source_words": len(words), "target_words": len(words)}.items()


async def collect(follower: Follower) -> Events:
    return [event async for event in follower.events()]


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
                victim.drop()
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


def test_killed_servers_lose_nothing(tmp_path: Path) -> None:
    words = speech(60, seed=7)

    async def talk_while_it_dies() -> None:
        async with Speaker(server.url, k=2) as speaker, Follower(server.url, speaker.session) as follower:
            collecting = asyncio.create_task(collect(follower))
            for index, word in enumerate(words):
                await speaker.say(word)
                await asyncio.sleep(0.01)
                if index % 20 == 10:
                    while not speaker.connected:
                        await asyncio.sleep(0.02)
                    await asyncio.to_thread(server.kill)
                    await asyncio.to_thread(server.start)
            await speaker.end()
            mine = await collect(speaker)
            check(mine, words)
            assert await collecting == mine
            assert speaker.connections >= 4

    with FakeServer(tmp_path) as server:
        asyncio.run(talk_while_it_dies())
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

    with FakeServer(tmp_path) as server:
        asyncio.run(talk_while_it_stops())
        assert server.faults() == []
