"""A clock that jumps deletes no sessions, and one that runs does."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.policy.waitk import WaitK
from turia.server.choices import StreamChoice
from turia.server.clocks import Clocks
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.sessions import SessionManager
from turia.server.stores.sqlite import SqliteStore

WEEK = 7 * 86_400.0


def test_a_jump_is_noticed_once_in_either_direction() -> None:
    clocks = Clocks(1000.0, 0.0)
    assert not clocks.jumped(1000.0 + 2 * WEEK, 2 * WEEK), "two weeks have passed"
    assert not clocks.jumped(1060.0 + 2 * WEEK, 2 * WEEK), "the clock was set right"
    assert clocks.jumped(1060.0 + 4 * WEEK, 2 * WEEK)
    assert not clocks.jumped(1060.0 + 4 * WEEK, 2 * WEEK)
    assert clocks.jumped(0.0, 2 * WEEK + 10)


def test_a_clock_that_jumps_deletes_no_session_until_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def jump() -> None:
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
        await manager.start()
        session_id, _ = await manager.create("a", StreamChoice("de-en", WaitK(2), punctuation=True))
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 2 * WEEK)
        await manager._forget_old()
        assert manager.store.load(session_id) is not None
        await manager._forget_old()
        assert manager.store.load(session_id) is None
        await manager.stop()

    asyncio.run(jump())
