"""A server with fake models for the tests that do no harm to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.servers import FakeServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    data: Path = tmp_path_factory.mktemp("server")
    with FakeServer(data, limits={"streams": 500, "streams_a_key": 500}) as running:
        yield running
        assert running.faults() == []
