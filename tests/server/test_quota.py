"""A key that has stored as much as it may says nothing more, until some of it is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.errors import InputError
from turia.policy.waitk import WaitK
from turia.server.admission import RefusedError
from turia.server.choices import StreamChoice
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.quota import Quota, parse_size
from turia.server.sessions import SessionManager
from turia.server.stores.base import StoreError
from turia.server.stores.sqlite import SqliteStore


@pytest.mark.parametrize(("text", "size"), [("1MB", 10**6), ("500mb", 5 * 10**8), ("2GB", 2 * 10**9)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "--quota") == size


@pytest.mark.parametrize("text", ["", "0MB", "5", "-1GB", "1.5GB", "9999999GB", "GB", "1 GB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="expected a size"):
        parse_size(text, "--quota")


def test_a_store_that_does_not_answer_changes_nothing() -> None:
    held = list[set[str]]()

    def stored() -> Mapping[str, int]:
        if held:
            raise StoreError("away")
        return {"a": 10, "b": 9}

    quota = Quota(10, stored, held.append)
    asyncio.run(quota.look())
    asyncio.run(quota.look())
    assert held == [{"a"}]


def test_a_key_past_its_quota_is_held_and_let_go_when_sessions_are_deleted(tmp_path: Path) -> None:
    choice = StreamChoice("de-en", WaitK(2), punctuation=True)

    async def store_much() -> None:
        store = SqliteStore(tmp_path / "sessions.sqlite")
        manager = SessionManager(fake_translators(), store, Limits(), Metrics())
        quota = Quota(2 * 4096, store.sizes, manager.hold_to_quota)
        await manager.start()
        ids = {owner: (await manager.create(owner, choice))[0] for owner in ("much", "little")}
        other, _ = await manager.create("much", choice)
        readers = {}
        for owner, session_id in ids.items():
            session = await manager.find(session_id)
            assert session is not None
            readers[owner] = await manager.join(session, "speaker", await manager.next_turn(session_id))
        await quota.look()
        refusal = readers["much"].refusal
        assert refusal is not None
        assert (refusal.code, refusal.retry) == ("quota", True)
        assert readers["little"].refusal is None
        with pytest.raises(RefusedError, match="take all the room"):
            await manager.create("much", choice)
        session = await manager.find(ids["much"])
        assert session is not None
        manager.leave(session, readers["much"])
        session.held_until = 0.0
        with pytest.raises(RefusedError, match="take all the room"):
            await manager.join(session, "speaker", await manager.next_turn(session.id))
        assert (await manager.join(session, "viewer")).refusal is None
        await manager.create("little", choice)
        await manager.delete(other)
        await quota.look()
        await manager.create("much", choice)
        await manager.stop()

    asyncio.run(store_much())
