"""A server is ready while its store takes what is written, and again when it does so again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.policy.waitk import WaitK
from turia.schema import JsonObject
from turia.server.choices import StreamChoice
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.sessions import SessionManager
from turia.server.stores.base import StoredSession, StoreError
from turia.server.stores.sqlite import SqliteStore

CHOICE = StreamChoice("de-en", WaitK(2), punctuation=True)


class Failing(SqliteStore):
    """Takes nothing while it is full."""

    full = False

    def create(self, session: StoredSession, events: Sequence[JsonObject]) -> None:
        self._refuse()
        super().create(session, events)

    def check(self, write: bool) -> None:
        if write:
            self._refuse()

    def _refuse(self) -> None:
        if self.full:
            raise StoreError("full")


def test_a_server_is_ready_while_its_store_takes_what_is_written(tmp_path: Path) -> None:
    async def write() -> None:
        store = Failing(tmp_path / "sessions.sqlite")
        manager = SessionManager(fake_translators(), store, Limits(), Metrics())
        await manager.start()
        assert manager.takes_streams
        store.full = True
        with pytest.raises(StoreError):
            await manager.create("owner", CHOICE)
        assert not manager.takes_streams
        await manager.health.check()
        assert (manager.takes_streams, manager.occupancy.member().ready) == (False, False)
        store.full = False
        await manager.health.check()
        assert manager.takes_streams
        await manager.stop()

    asyncio.run(write())
