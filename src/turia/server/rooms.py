"""Rooms: places with a name that stay, whatever session runs in them (docs/events.md).

A room is one line in the store: its name, its title, and the session that runs in it or ran last. Putting a session
into a room is a change of that line. All connections that watch the room are told, and go on with the new session.

**Whose.** Rooms of the command line may be used by every key, a room that a key made by that key and by operators.

**One at a time.** Where somebody speaks in a room, another session gets it only if that is asked for (`take`): a wrong
name must not end the captions of a talk. Where the speaker has gone, the room is free.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from turia.errors import InputError
from turia.protocol.values import RoomName
from turia.schema import MismatchError, Rule, from_dict
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager
from turia.server.stores.base import DamagedError, StoredRoom, StoreError

T = TypeVar("T")
MOST_ROOMS = 1000
LONGEST_TITLE = 100
FOLLOW_SECONDS = 1.0
RECENTLY = 60.0
"""Where servers share a store: a session of another one that was used in so many seconds has a speaker there."""
Title = Annotated[
    str,
    Rule(
        lambda value: value.strip() != "" and len(value) <= LONGEST_TITLE and value.isprintable(),
        f"one line of at most {LONGEST_TITLE} letters",
    ),
]
log = logging.getLogger("turia.server")


class InUseError(InputError):
    """Somebody speaks in the room."""


@dataclass(frozen=True)
class NewRoom:
    """A room as it is asked for."""

    name: RoomName
    title: Title


def parse_room(text: str) -> NewRoom:
    """A room of the command line: `main-hall`, or `main-hall=Main hall`."""
    name, _, title = text.partition("=")
    return checked_room(name, title or name.replace("-", " ").capitalize(), f"--room {text}: ")


def checked_room(name: str, title: str, where: str = "") -> NewRoom:
    try:
        return from_dict(NewRoom, {"name": name, "title": title})
    except MismatchError as error:
        raise InputError(f"{where}{error.key}: expected {error.expected}") from None


Permit = Callable[[StoredRoom | None], None]
"""Raises where a room, or the lack of one, may not be changed. It is asked under the lock of the change: another may
have come first."""


def everybody(room: StoredRoom | None) -> None:
    """Permits all."""


class Rooms:
    """The rooms of a server. They live on the event loop."""

    def __init__(self, manager: SessionManager, given: Sequence[NewRoom] = ()) -> None:
        self._manager, self._given = manager, given
        self._rooms: dict[str, StoredRoom] = {}
        self._watching: dict[str, set[Callable[[], None]]] = {}
        self._changing = asyncio.Lock()

    async def start(self) -> None:
        """Those of the store, and those of the command line."""
        await self._refresh()
        for new in self._given:
            old = self._rooms.get(new.name)
            if old is None or (old.title, old.owner) != (new.title, ""):
                await self._put(replace(old or StoredRoom(new.name, new.title), title=new.title, owner=""))

    async def follow(self) -> None:
        """Where several servers share a store: what others changed, for as long as the server lives."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await self._refresh()
            except StoreError:
                log.warning("the store does not answer; changes of rooms wait")

    def get(self, name: str) -> StoredRoom | None:
        return self._rooms.get(name)

    def all(self) -> list[StoredRoom]:
        return sorted(self._rooms.values(), key=lambda room: room.name)

    @contextmanager
    def watching(self, name: str, changed: Callable[[], None]) -> Iterator[None]:
        """Calls `changed` whenever the room does, until the block ends."""
        watching = self._watching.setdefault(name, set())
        watching.add(changed)
        try:
            yield
        finally:
            watching.discard(changed)
            if not watching:
                self._watching.pop(name, None)

    async def put(self, new: NewRoom, owner: str, permit: Permit = everybody) -> None:
        """Makes a room, or gives it another title."""
        async with self._changing:
            await self._refresh_if_shared()
            old = self._rooms.get(new.name)
            permit(old)
            if old is None and len(self._rooms) >= MOST_ROOMS:
                raise InputError(f"this server has {MOST_ROOMS} rooms; delete one first")
            await self._put(StoredRoom(new.name, new.title, owner) if old is None else replace(old, title=new.title))

    async def delete(self, name: str, permit: Permit = everybody) -> None:
        """The room is gone; its session stays."""
        async with self._changing:
            await self._refresh_if_shared()
            permit(self._rooms.get(name))
            await self._manager.health.ask(self._manager.store.delete_room, name)
            self._rooms.pop(name, None)
            self._tell(name)

    async def place(
        self,
        name: str,
        take: bool,
        begin: Callable[[], Awaitable[tuple[str | None, T]]],
        permit: Permit = everybody,
        there: str | None = None,
    ) -> T:
        """Puts the session that `begin` gives into the room; None empties it. If the room has the session `there`
        already, nobody is driven out."""
        async with self._changing:
            await self._refresh_if_shared()
            room = self._rooms.get(name)
            permit(room)
            if room is None:
                raise InputError("no such room")
            if not take and (there is None or room.session != there) and await self._in_use(room):
                raise InUseError("somebody speaks in this room already; take_room takes it all the same")
            session_id, result = await begin()
            # Whoever deletes rooms has waited for us.
            await self._put(replace(self._rooms[name], session=session_id))
            return result

    async def session_of(self, room: StoredRoom) -> ActiveSession | None:
        """What runs in the room, or ran last. A session that is damaged is as good as one that was deleted: nobody can
        read it or go on with it, and the room is for the next."""
        try:
            return None if room.session is None else await self._manager.find(room.session)
        except DamagedError:
            return None

    async def _in_use(self, room: StoredRoom) -> bool:
        session = await self.session_of(room)
        if session is None or session.progress.ended:
            return False
        if session.speaker is not None or (not session.joined and session.holds_place(time.monotonic())):
            return True
        if self._manager.cluster is None:
            return False
        stored = await asyncio.to_thread(self._manager.store.load, session.id)
        return stored is not None and not stored.progress.ended and time.time() - stored.touched < RECENTLY

    async def _put(self, room: StoredRoom) -> None:
        room = replace(room, turn=room.turn + 1)
        await self._manager.health.ask(self._manager.store.put_room, room)
        self._rooms[room.name] = room
        self._tell(room.name)

    async def _refresh_if_shared(self) -> None:
        if self._manager.cluster is not None:
            await self._refresh()

    async def _refresh(self) -> None:
        found = {room.name: room for room in await asyncio.to_thread(self._manager.store.rooms)}
        before, self._rooms = self._rooms, found
        for name in before.keys() | found.keys():
            if before.get(name) != found.get(name):
                self._tell(name)

    def _tell(self, name: str) -> None:
        for changed in tuple(self._watching.get(name, ())):
            changed()
