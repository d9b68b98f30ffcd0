"""What an operator asks of a session that another server of the store may have: it is put where all servers look.

Each server looks four times a second. The one that has the session takes the request, does it, and says what became of
it; the others note that they have seen it. If all have and nobody took it, nobody speaks in the session.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from fastapi import HTTPException

from turia.protocol.values import ProtocolError
from turia.schema import from_dict, read_json, to_dict, write_json
from turia.server.cluster import Cluster
from turia.server.stores.base import StoreError

ANSWER_SECONDS = 8.0
"""A server that has not looked for so long is gone: members are known for five seconds."""
LOOK_SECONDS = 0.1
log = logging.getLogger("turia.server")


@dataclass(frozen=True)
class SteeringRequest:
    """Something that is asked of a session."""

    id: str
    session: str
    text: str
    """The operator's message, as it came."""


@dataclass(frozen=True)
class SteeringOutcome:
    """What became of a request so far."""

    taken: bool
    answer: str | None
    seen: frozenset[str]
    """Names of the servers that have looked at it."""


@dataclass(frozen=True)
class SteeringAnswer:
    """What the server that has the session says."""

    status: int
    detail: str = ""


class Requests(Protocol):
    """Requests in a store that servers share. Any thread may call these; they raise StoreError without an answer."""

    def put(self, session_id: str, text: str) -> str:
        """The request's id. It is gone after a while."""
        ...

    def waiting(self, name: str) -> list[SteeringRequest]:
        """Requests that nobody has taken; notes that the server of this name has seen them."""
        ...

    def take(self, request_id: str) -> bool:
        """Whether the caller is the one who takes it."""
        ...

    def answer(self, request_id: str, text: str) -> None: ...

    def outcome(self, request_id: str) -> SteeringOutcome: ...


async def ask_others(cluster: Cluster, name: str, session_id: str, text: str) -> SteeringAnswer | None:
    """What the server that has the session says; None if no server has it. `name` is that of this server."""
    requests = cluster.requests
    request = await asyncio.to_thread(requests.put, session_id, text)
    until = time.monotonic() + ANSWER_SECONDS
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        found = await asyncio.to_thread(requests.outcome, request)
        if found.answer is not None:
            return from_dict(SteeringAnswer, read_json(found.answer))
        late = time.monotonic() > until
        if not found.taken:
            members = await asyncio.to_thread(cluster.members)
            everybody = {member.name for member in members if member.name != name}
            # Whoever takes it is the only one: a server that looks now leaves it alone.
            if (late or everybody <= found.seen) and await asyncio.to_thread(requests.take, request):
                return None
        elif late:
            return SteeringAnswer(503, "the server that has the session does not answer; try again")


async def answer_others(
    requests: Requests, name: str, has: Callable[[str], bool], do: Callable[[SteeringRequest], Awaitable[None]]
) -> None:
    """Takes and does what is asked of sessions that this server `has`."""
    for request in await asyncio.to_thread(requests.waiting, name):
        if not has(request.session) or not await asyncio.to_thread(requests.take, request.id):
            continue
        try:
            await do(request)
            answer = SteeringAnswer(202)
        except ProtocolError as error:
            answer = SteeringAnswer(422, str(error))
        except HTTPException as error:
            answer = SteeringAnswer(error.status_code, str(error.detail))
        except StoreError:
            raise
        except Exception as error:
            # Those who follow sessions here must not wait for ever because of one request.
            log.error("a request of another server failed: %s", type(error).__name__)
            answer = SteeringAnswer(500, "the request failed at the server that has the session")
        await asyncio.to_thread(requests.answer, request.id, write_json(to_dict(answer)))
