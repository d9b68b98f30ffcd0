"""Rooms: their names, and how they outlive a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from tests.server.redises import RedisServer
from turia.errors import InputError
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.rooms import NewRoom, Rooms, parse_room
from turia.server.sessions import SessionManager
from turia.server.stores.base import StoredRoom
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster
from turia.server.stores.sqlite import SqliteStore


def test_rooms_of_the_command_line() -> None:
    assert parse_room("main-hall=Main hall, 2nd floor") == NewRoom("main-hall", "Main hall, 2nd floor")
    assert parse_room("main-hall") == NewRoom("main-hall", "Main hall")
    for wrong in ("Main", "a b=x", "", "=x", "a_b"):
        with pytest.raises(InputError, match=f"--room {wrong}: name: expected a name of at most 60"):
            parse_room(wrong)
    with pytest.raises(InputError, match="--room a= : title: expected one line of at most 100 letters"):
        parse_room("a= ")


def test_rooms_stay_with_the_store(tmp_path: Path) -> None:
    async def run(given: list[NewRoom]) -> list[StoredRoom]:
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
        rooms = Rooms(manager, given)
        await rooms.start()
        if given:
            await rooms.put(NewRoom("lab", "Lab"), "owner")

            async def begun() -> tuple[str, int]:
                return "some-session", 7

            assert await rooms.place("hall", False, begun) == 7
        manager.store.close()
        return rooms.all()

    made = asyncio.run(run([NewRoom("hall", "Hall")]))
    assert made == [StoredRoom("hall", "Hall", "", "some-session", 2), StoredRoom("lab", "Lab", "owner", None, 1)]
    assert asyncio.run(run([])) == made
    # The command line has the last word about its rooms, not about what runs in them.
    again = asyncio.run(run([NewRoom("hall", "Great hall")]))
    assert (again[0].title, again[0].session) == ("Great hall", "some-session")


@pytest.mark.slow
def test_servers_of_one_store_have_the_same_rooms(redis_server: RedisServer) -> None:
    redis_server.clear()

    async def run() -> None:
        stores = [RedisStore(redis_server.url) for _ in range(2)]
        managers = [
            SessionManager(fake_translators(), store, Limits(), Metrics(), RedisCluster(store.client))
            for store in stores
        ]
        one, other = (Rooms(manager) for manager in managers)
        told = asyncio.Event()
        with other.watching("hall", told.set):
            following = asyncio.create_task(other.follow())
            await one.put(NewRoom("hall", "Hall"), "owner")
            await asyncio.wait_for(told.wait(), 60)
            assert other.get("hall") == StoredRoom("hall", "Hall", "owner", None, 1)
            told.clear()
            await one.delete("hall")
            await asyncio.wait_for(told.wait(), 60)
            assert other.all() == []
            following.cancel()
        for store in stores:
            store.close()

    asyncio.run(run())
