"""A server with fake models for the tests that do no harm to it, and a Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.redises import RedisServer, skip_without_redis
from tests.server.servers import FakeServer

# Many tests at once, and none waits for a rate that test_limits.py tries.
LIMITS = {"streams": 500, "streams_a_key": 500, "words_a_second": 5000, "burst": 5000}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    data: Path = tmp_path_factory.mktemp("server")
    with FakeServer(data, limits=LIMITS) as running:
        yield running
        assert running.faults() == []


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    """For the tests of one file; each begins with `clear`, or with names of its own."""
    skip_without_redis()
    with RedisServer() as running:
        yield running
