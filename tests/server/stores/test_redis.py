"""What is special about Redis: it may be away, slow, restarted, or set up to lose what it was given."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from tests.server.redises import RedisServer, skip_without_redis
from tests.server.stores.test_base import STEP, STORED, A, B, C
from turia.errors import InputError, ResourceError
from turia.server.progress import Progress
from turia.server.stores.base import StoreError
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster


def test_what_was_taken_survives_a_kill_of_redis() -> None:
    skip_without_redis()
    with RedisServer() as server:
        store = RedisStore(server.url, patience=60.0)
        store.create(STORED, [A])
        for number in range(20):
            before, after = (Progress(2 * n, 2 * n + 1) for n in (number, number + 1))
            step = replace(STEP, before=before, after=after)
            # The scripts are gone after a restart too; the store sends them again.
            assert store.advance([step]) == [True]
            if number % 5 == 0:
                server.kill()
                server.start()
        stored = store.load("id")
        assert stored is not None
        assert stored.progress == Progress(40, 41)
        assert store.events("id", 0, 100) == (1, [A] + [B, C] * 20)
        store.close()


@pytest.mark.slow
def test_a_redis_that_comes_back_in_time_was_only_waited_for() -> None:
    skip_without_redis()
    with RedisServer() as server:
        store = RedisStore(server.url, patience=60.0)
        store.create(STORED, [A])
        server.kill()
        back = threading.Timer(0.5, server.start)
        back.start()
        assert store.advance([STEP]) == [True]
        back.join()
        server.pause()
        awake = threading.Timer(0.5, server.go_on)
        awake.start()
        assert store.events("id", 1, 10) == (2, [B, C])
        awake.join()
        store.close()


@pytest.mark.slow
def test_without_an_answer_the_store_says_so_and_nothing_is_half_done(redis_server: RedisServer) -> None:
    redis_server.clear()
    store = RedisStore(redis_server.url, patience=60.0, answer_seconds=60.0)
    store.create(STORED, [A])
    # Patient until it is opened: a Redis that is only slow is not yet to be given up.
    hasty = RedisStore(redis_server.url, patience=60.0, answer_seconds=0.2)
    hasty.patience = 0.3
    asks: list[Callable[[], object]] = [
        lambda: hasty.advance([STEP]),
        lambda: hasty.load("id"),
        lambda: hasty.use_ticket("x"),
        lambda: RedisCluster(hasty.client).members(),
    ]
    redis_server.pause()
    for ask in asks:
        with pytest.raises(StoreError, match="does not answer"):
            ask()
    redis_server.go_on()
    # What was asked while nobody answered may have been taken or not, but whole: asking again makes it so.
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    hasty.close()
    store.close()


def test_a_full_redis_takes_nothing_and_loses_nothing(redis_server: RedisServer) -> None:
    redis_server.clear()
    # It answers that it is full, so it has all the time for an answer.
    store = RedisStore(redis_server.url, patience=0.2, answer_seconds=60.0)
    store.create(STORED, [A])
    store.client.config_set("maxmemory", "1")
    with pytest.raises(StoreError, match="does not answer"):
        store.advance([STEP])
    store.client.config_set("maxmemory", "0")
    assert store.load("id") == STORED
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    store.close()


def test_sessions_expire_by_themselves(redis_server: RedisServer) -> None:
    redis_server.clear()
    store = RedisStore(redis_server.url, keep=100.0)
    store.create(STORED, [A])
    store.advance([STEP])
    keys = list(store.client.scan_iter("turia:*"))
    assert len(keys) == 2
    assert all(0 < store.client.ttl(key) <= 100 for key in keys)
    assert store.forget(1e12) == 0
    store.close()


def test_a_redis_that_may_lose_sessions_is_refused() -> None:
    skip_without_redis()
    with RedisServer() as server:
        for settings, told in (
            ({"appendonly": "no"}, "set `appendonly yes`"),
            ({"appendfsync": "everysec"}, "set `appendfsync always`"),
            ({"maxmemory-policy": "allkeys-lru"}, "noeviction"),
        ):
            server.kill()
            server.start(**settings)
            with pytest.raises(ResourceError, match=told):
                RedisStore(server.url, patience=60.0)
        server.kill()
        with pytest.raises(StoreError, match="does not answer"):
            RedisStore(server.url, patience=0.2)


def test_a_slow_answer_about_settings_is_waited_for_and_none_is_a_warning(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked, answers = 0, redis.Redis.config_get

    def slow(client: redis.Redis, name: str) -> object:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise redis.TimeoutError("too late")
        return answers(client, name)

    monkeypatch.setattr(redis.Redis, "config_get", slow)
    RedisStore(redis_server.url, patience=60.0).close()
    assert (asked, "does not show its settings" in caplog.text) == (2, False)
    with redis.Redis(port=redis_server.port) as operator:
        operator.acl_setuser("default", enabled=True, commands=["-config"])
        RedisStore(redis_server.url, patience=60.0).close()
        operator.acl_setuser("default", enabled=True, commands=["+config"])
    assert "does not show its settings" in caplog.text


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match="redis://HOST:PORT"):
        RedisStore("http://127.0.0.1")


def test_a_password_that_was_changed_is_told_at_once_and_words_wait(redis_server: RedisServer) -> None:
    redis_server.clear()
    store = RedisStore(redis_server.url, patience=60.0)
    store.create(STORED, [A])
    with redis.Redis(port=redis_server.port) as operator:
        operator.config_set("requirepass", "another")
        operator.client_kill_filter(_type="normal", skipme=True)
        asks: list[Callable[[], object]] = [
            lambda: store.advance([STEP]),
            lambda: RedisStore(redis_server.url),
            lambda: RedisStore(redis_server.url.replace("//", "//:wrong@")),
        ]
        for ask in asks:
            with pytest.raises(StoreError, match="refuses this server; its operator must mend --store"):
                ask()
        for ask in (lambda: store.use_ticket("x"), RedisCluster(store.client).members):
            with pytest.raises(StoreError):
                ask()
        operator.config_set("requirepass", "")
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    store.close()
