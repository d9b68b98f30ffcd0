"""What the client in Python sends, and how it comes back to servers that were away."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.server_faults import check, collect
from tests.protocol.front import Front
from tests.server.backups import going_back, say_two_words
from tests.server.servers import FakeServer
from turia.commands.send import send
from turia.errors import InputError
from turia.protocol import calls
from turia.protocol.client import (
    UNACKNOWLEDGED,
    Follower,
    LostError,
    Speaker,
    _joined,
)
from turia.protocol.client_messages import EndOfStream, InputMessage, Pause, Words
from turia.stream.times import SpokenWord


@pytest.mark.parametrize(("secret", "said"), [("t", "missing key 'ticket'"), ("t\\nu", "Invalid header value")])
def test_nobody_waits_for_events_that_cannot_come(front: Front, secret: str, said: str) -> None:
    front.answer = (201, f'{{"session":"s","secret":"{secret}"}}')

    async def follow() -> None:
        async with asyncio.timeout(30), Speaker(f"http://127.0.0.1:{front.server_port}") as speaker:
            async for _ in speaker.events():
                pass

    with pytest.raises(ValueError, match=said):
        asyncio.run(follow())


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ({}, {}),
        ({"k": 7}, {"k": 7}),
        ({"policy": "hold-n:n=2", "target_lag": "3s"}, {"policy": "hold-n:n=2", "target_lag": "3s"}),
    ],
)
def test_who_chooses_nothing_leaves_it_to_the_server_when_words_are_written(
    front: Front, chosen: dict[str, Any], asked: dict[str, Any]
) -> None:
    front.answer = (401, '{"detail":"an API key is needed"}')

    async def begin() -> None:
        async with Speaker(f"http://127.0.0.1:{front.server_port}", **chosen):
            pass

    with pytest.raises(InputError, match="401"):
        asyncio.run(begin())
    found = json.loads(front.asked)
    assert {name: found[name] for name in ("k", "policy", "target_lag") if name in found} == asked


def test_k_is_for_wait_k() -> None:
    with pytest.raises(InputError, match="policy and k are both given"):
        Speaker("http://127.0.0.1:1", k=3, policy="whole")


def test_a_refusal_for_good_is_told_once(front: Front, caplog: pytest.LogCaptureFixture) -> None:
    """By the events; that the words could not be said either is nothing for the log."""
    front.answer = (201, '{"session":"s","secret":"t","ticket":"u"}')

    async def speak() -> None:
        async with Speaker(f"http://127.0.0.1:{front.server_port}") as speaker:
            front.answer = (404, '{"detail":"no such session"}')
            await send(speaker, map(SpokenWord, ["ka", "le"]), io.StringIO())

    with pytest.raises(InputError, match="no such session"):
        asyncio.run(speak())
    gc.collect()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_words_become_such_as_the_server_takes(server: FakeServer) -> None:
    async def speak() -> list[str]:
        async with Speaker(server.url, k=1) as speaker:
            await speaker.say("x" * 401, "a\ud83d", "\ud83d\ude00\x1cb\x85", at=5.0)
            await speaker.end()
            return [event["word"] for event in await collect(speaker) if event["type"] == "source"]

    said = asyncio.run(speak())
    assert said == ["x" * 200, "x" * 200, "x", "a\N{REPLACEMENT CHARACTER}", "\N{GRINNING FACE}", "b"]


def test_the_longest_words_fit_into_messages(server: FakeServer) -> None:
    async def speak() -> None:
        async with Speaker(server.url, k=1) as speaker, asyncio.timeout(60):
            await speaker.say("\N{GRINNING FACE}" * 20_000, at=2.0**52 + 0.5)
            await speaker.end()
            said = [event["word"] for event in await collect(speaker) if event["type"] == "source"]
            assert said == ["\N{GRINNING FACE}" * 200] * 100
            assert speaker.connections == 1

    asyncio.run(speak())


def test_neighbouring_words_share_messages() -> None:
    plain = [Words(seq, ("a",)) for seq in range(1, 26)]
    timed = [Words(seq, ("b",), (float(seq),)) for seq in (26, 27)]
    said: list[InputMessage] = [*plain, *timed, Pause(28), Words(29, ("c",)), EndOfStream(30)]
    assert _joined(said) == [
        Words(1, ("a",) * 20),
        Words(21, ("a",) * 5),
        Words(26, ("b", "b"), (26.0, 27.0)),
        Pause(28),
        Words(29, ("c",)),
        EndOfStream(30),
    ]


def test_a_time_that_is_no_number_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="at is nan, expected a number of milliseconds"):
        asyncio.run(Speaker("http://127.0.0.1:1").say("ka", at=float("nan")))


def test_an_acknowledgement_while_sending_lets_the_next_word_go() -> None:
    class Socket:
        """Whatever is sent is acknowledged before `send` is done."""

        async def send(self, text: str) -> None:
            speaker._acknowledged(UNACKNOWLEDGED)

    async def fill() -> int:
        for _ in range(UNACKNOWLEDGED):
            await speaker._add(Pause)
        speaker._socket = Socket()  # type: ignore[assignment]
        async with asyncio.timeout(30):
            await speaker._add(EndOfStream)
        return len(speaker._unacknowledged)

    speaker = Speaker("http://127.0.0.1:1")
    assert asyncio.run(fill()) == 1


def test_a_ticket_that_is_not_taken_costs_another(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    post, dead = calls._post, ["never issued"]

    def first_ticket_is_dead(url: str, bearer: str | None, body: dict[str, Any] | None) -> dict[str, Any]:
        answer = post(url, bearer, body)
        return answer | {"ticket": dead.pop()} if dead and url.endswith("/tickets") else answer

    async def speak() -> None:
        async with Speaker(server.url, k=2) as speaker:
            await speaker.say("ka", "le.")
            await speaker.end()
            check(await collect(speaker), ["ka", "le."])

    monkeypatch.setattr(calls, "_post", first_ticket_is_dead)
    asyncio.run(speak())
    assert dead == []


@pytest.mark.slow
def test_a_server_that_stops_is_left_alone_for_as_long_as_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, asked = calls._post, []

    def note_the_time(url: str, bearer: str | None, body: dict[str, Any] | None) -> dict[str, Any]:
        asked.append(time.monotonic())
        return post(url, bearer, body)

    async def speak() -> float:
        async with Speaker(server.url, k=2) as speaker:
            await speaker.say("ka", "le.")
            while not speaker.connected:
                await asyncio.sleep(0.02)
            asked.clear()
            told = time.monotonic()
            await asyncio.to_thread(server.kill, signal.SIGTERM)
            while not asked:
                await asyncio.sleep(0.02)
            return asked[0] - told

    monkeypatch.setattr(calls, "_post", note_the_time)
    with FakeServer(tmp_path, limits={"retry_after": 3.0}) as server:
        assert asyncio.run(speak()) >= 3.0


@pytest.mark.slow
def test_a_store_that_went_back_is_told(tmp_path: Path) -> None:
    async def speak() -> None:
        async with Speaker(server.url, k=1) as speaker, Follower(server.url, speaker.session) as follower:
            await speaker.say("ka.")
            await heard(speaker, 1)
            await heard(follower, 1)
            back = going_back(server, tmp_path)
            await asyncio.to_thread(back.__enter__)
            await speaker.say("le", "mi.")
            await heard(speaker, 2)
            await heard(follower, 2)
            while speaker._unacknowledged:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(back.__exit__, None, None, None)
            with pytest.raises(LostError, match="lost inputs 2 to 3"):
                await collect(speaker)
            with pytest.raises(LostError, match="lost inputs 2 to 3"):
                await speaker.say("no")
            # To a viewer it might be a server that is a little behind, until it tells another event of a known number.
            while not follower.connected:
                await asyncio.sleep(0.02)
            assert speaker._secret is not None
            await asyncio.to_thread(say_two_words, server, speaker.session, speaker._secret)
            with pytest.raises(LostError, match="another than before"):
                await collect(follower)
            # One who comes back only now, when the store has as many events again, is told as well.
            late = Follower(server.url, speaker.session)
            late._have, late._newest = follower._have, follower._newest
            async with late:
                with pytest.raises(LostError, match="another than before"):
                    await collect(late)

    with FakeServer(tmp_path) as server:
        asyncio.run(speak())


async def heard(follower: Follower, words: int) -> None:
    """Takes events until so many words, and the sentence after them, have been translated."""
    async for event in follower.events():
        words -= event["type"] == "write"
        if event["type"] == "sentence" and words == 0:
            return
