"""Requests between servers in Redis.

turia:{cluster}:requests     set of ids
turia:{cluster}:request:ID   hash: `session`, `text`, `taken` once somebody has it, `answer`, and `seen:NAME` of each
                             server that has looked; expires after half a minute
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from turia.server.access import new_secret
from turia.server.requests import SteeringOutcome, SteeringRequest
from turia.server.stores.base import StoreError

REQUESTS = "turia:{cluster}:requests"
REQUEST_SECONDS = 30
TAKE = """
if redis.call('EXISTS', KEYS[2]) == 0 or redis.call('HSETNX', KEYS[2], 'taken', 1) == 0 then return 0 end
redis.call('SREM', KEYS[1], ARGV[1])
return 1
"""


class RedisRequests:
    """The requests of all servers that use one Redis; `client` decodes responses."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._take = client.register_script(TAKE)

    def put(self, session_id: str, text: str) -> str:
        request = new_secret()[:22]
        with answered(), self._client.pipeline() as pipe:
            pipe.hset(_key(request), mapping={"session": session_id, "text": text})
            pipe.expire(_key(request), REQUEST_SECONDS)
            pipe.sadd(REQUESTS, request)
            pipe.execute()
        return request

    def waiting(self, name: str) -> list[SteeringRequest]:
        with answered():
            ids = sorted(self._client.smembers(REQUESTS))
            if not ids:
                return []
            with self._client.pipeline() as pipe:
                for one in ids:
                    pipe.hmget(_key(one), "session", "text", "taken", f"seen:{name}")
                found = list(zip(ids, pipe.execute(), strict=True))
            with self._client.pipeline() as pipe:
                for one, (session, _, _, seen) in found:
                    if session is None:
                        pipe.srem(REQUESTS, one)
                    elif seen is None:
                        pipe.hset(_key(one), f"seen:{name}", 1)
                        pipe.expire(_key(one), REQUEST_SECONDS)
                pipe.execute()
        open_ones = [(one, session, text) for one, (session, text, taken, _) in found if session and not taken]
        return [SteeringRequest(*one) for one in open_ones]

    def take(self, request_id: str) -> bool:
        with answered():
            return bool(self._take([REQUESTS, _key(request_id)], [request_id]))

    def answer(self, request_id: str, text: str) -> None:
        with answered(), self._client.pipeline() as pipe:
            pipe.hset(_key(request_id), "answer", text)
            pipe.expire(_key(request_id), REQUEST_SECONDS)
            pipe.execute()

    def outcome(self, request_id: str) -> SteeringOutcome:
        with answered():
            found = self._client.hgetall(_key(request_id))
        seen = frozenset(key.removeprefix("seen:") for key in found if key.startswith("seen:"))
        return SteeringOutcome("taken" in found, found.get("answer"), seen)


def _key(request: str) -> str:
    return f"turia:{{cluster}}:request:{request}"


@contextmanager
def answered() -> Iterator[None]:
    """An error of Redis as one of the store's, at once."""
    try:
        yield
    except redis.RedisError as error:
        raise StoreError("the store of sessions does not answer") from error
