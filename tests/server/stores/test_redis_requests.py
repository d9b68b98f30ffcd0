"""Requests between servers in a real Redis: one taker, and all who have looked."""

from __future__ import annotations

import pytest

from tests.server.redises import RedisServer
from turia.server.requests import SteeringOutcome, SteeringRequest
from turia.server.stores.base import StoreError
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_requests import REQUESTS, RedisRequests


def test_a_request_is_seen_by_all_and_taken_by_one(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url)
    requests = RedisRequests(store.client)
    asked = requests.put("a session", '{"type":"pause"}')
    assert requests.outcome(asked) == SteeringOutcome(False, None, frozenset())
    expected = [SteeringRequest(asked, "a session", '{"type":"pause"}')]
    assert requests.waiting("one") == requests.waiting("two") == requests.waiting("one") == expected
    assert requests.outcome(asked).seen == {"one", "two"}
    assert [requests.take(asked), requests.take(asked)] == [True, False]
    assert requests.waiting("three") == []
    requests.answer(asked, "done")
    assert requests.outcome(asked) == SteeringOutcome(True, "done", frozenset({"one", "two"}))
    assert 0 < store.client.ttl(f"turia:{{cluster}}:request:{asked}") <= 30
    store.close()


def test_a_request_that_is_gone_is_taken_by_nobody(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url)
    requests = RedisRequests(store.client)
    asked = requests.put("a session", "text")
    store.client.delete(f"turia:{{cluster}}:request:{asked}")
    assert requests.waiting("one") == []
    assert not requests.take(asked)
    assert store.client.smembers(REQUESTS) == set()
    store.close()


def test_a_redis_that_is_away_is_an_error_of_the_store(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url, answer_seconds=0.1)
    requests = RedisRequests(store.client)
    redis_server.pause()
    try:
        with pytest.raises(StoreError):
            requests.put("a session", "text")
    finally:
        redis_server.go_on()
        store.close()
