"""What several tests of the protocol need."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.protocol.front import Front, Proxy


@pytest.fixture
def front() -> Iterator[Front]:
    with Front(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
