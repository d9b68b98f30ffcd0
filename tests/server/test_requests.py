"""What servers ask of each other: the one that has the session answers, and if nobody has it that is known soon."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import HTTPException

from turia.protocol.values import ProtocolError
from turia.server import requests as module
from turia.server.cluster import Member
from turia.server.requests import SteeringAnswer, SteeringOutcome, SteeringRequest, answer_others, ask_others


@dataclass
class FakeCluster:
    """Requests and members in memory."""

    names: list[str]
    found: dict[str, SteeringRequest] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    @property
    def requests(self) -> Any:
        return self

    def members(self) -> list[Member]:
        return [Member(name, True, 0, 8, 0, {}) for name in self.names]

    def put(self, session_id: str, text: str) -> str:
        self.found["1"] = SteeringRequest("1", session_id, text)
        return "1"

    def waiting(self, name: str) -> list[SteeringRequest]:
        self.seen.add(name)
        return [one for one in self.found.values() if one.id not in self.taken]

    def take(self, request_id: str) -> bool:
        first = request_id not in self.taken
        self.taken.add(request_id)
        return first

    def answer(self, request_id: str, text: str) -> None:
        self.answers[request_id] = text

    def outcome(self, request_id: str) -> SteeringOutcome:
        return SteeringOutcome(request_id in self.taken, self.answers.get(request_id), frozenset(self.seen))


async def look(cluster: FakeCluster, name: str, has: bool, error: Exception | None = None) -> list[str]:
    """A server looks for requests, until there is one."""
    done: list[str] = []

    async def do(request: SteeringRequest) -> None:
        done.append(request.text)
        if error is not None:
            raise error

    while not cluster.found:
        await asyncio.sleep(0.01)
    await answer_others(cluster.requests, name, lambda session: has and session == "a session", do)
    return done


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, SteeringAnswer(202)),
        (ProtocolError("message", "no such line"), SteeringAnswer(422, "no such line")),
        (HTTPException(409, "it has ended"), SteeringAnswer(409, "it has ended")),
        (KeyError("what was said"), SteeringAnswer(500, "the request failed at the server that has the session")),
    ],
)
def test_the_server_that_has_the_session_answers(error: Exception | None, expected: SteeringAnswer) -> None:
    async def ask() -> None:
        cluster: Any = FakeCluster(["one", "two", "three"])
        two, three = look(cluster, "two", False), look(cluster, "three", True, error)
        answer, *done = await asyncio.gather(ask_others(cluster, "one", "a session", "text"), two, three)
        assert answer == expected
        assert done == [[], ["text"]]

    asyncio.run(ask())


def test_when_all_have_looked_and_nobody_has_it_that_is_known() -> None:
    async def ask() -> None:
        cluster: Any = FakeCluster(["one", "two"])
        answer, _ = await asyncio.gather(ask_others(cluster, "one", "a session", "text"), look(cluster, "two", False))
        assert answer is None
        # Whoever looks later leaves it alone.
        assert await look(cluster, "three", True) == []

    asyncio.run(ask())


def test_nobody_waits_for_ever_for_a_server_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.0)

    async def ask() -> None:
        waiting: Any = FakeCluster(["one", "dead"])
        assert await ask_others(waiting, "one", "a session", "text") is None
        taken: Any = FakeCluster(["one", "dead"], taken={"1"})
        answer = await ask_others(taken, "one", "a session", "text")
        assert answer == SteeringAnswer(503, "the server that has the session does not answer; try again")

    asyncio.run(ask())
