"""The socket of a viewer in a room: it shows the room's session, and goes on with the next one by itself.

A viewer needs no ticket, as everybody may watch. The connection stays open while nobody has begun, and after a session
has ended: whoever is in the room is told at once when the next one begins. It ends where the room is deleted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from starlette.websockets import WebSocket, WebSocketDisconnect

from turia.protocol.rooms import ROOM, RoomHello, RoomState, parse_viewer
from turia.protocol.server_messages import (
    SERVER,
    GoingAway,
    Pong,
    Presence,
    Refusal,
    ServerMessage,
    TentativeText,
    Welcome,
)
from turia.protocol.values import PROTOCOL, ProtocolError
from turia.server.fanout import targets_of
from turia.server.limits import SMALL_MESSAGE, Bucket
from turia.server.rooms import Rooms
from turia.server.session import ActiveSession, EventReader
from turia.server.sessions import SessionManager
from turia.server.socket import FAILED, GOING_AWAY, POLICY, end, end_without_store, news_after, receive
from turia.server.stores.base import StoredRoom, StoreError
from turia.server.tracebacks import described

log = logging.getLogger("turia.server")
NO_ROOM = Refusal("room", "there is no room of this name")


async def serve_room(socket: WebSocket, manager: SessionManager, rooms: Rooms, name: str, address: str = "") -> None:
    """A connection of a viewer at this address, from its hello to its end."""
    try:
        await _serve(socket, manager, rooms, name, address)
    except Exception as error:
        # Nobody foresaw it: a client that came back would meet it again.
        log.error("a connection to a room failed\n%s", described(error))
        manager.metrics.refused("failed")
        await end(socket, Refusal("failed", "the server failed"), FAILED)


async def _serve(socket: WebSocket, manager: SessionManager, rooms: Rooms, name: str, address: str) -> None:
    await socket.accept()
    try:
        with manager.hellos.awaited_from(address):
            async with asyncio.timeout(manager.limits.hello):
                hello = parse_viewer(await receive(socket, SMALL_MESSAGE))
        if not isinstance(hello, RoomHello):
            raise ProtocolError("hello", "the first message is a hello")
    except TimeoutError:
        manager.metrics.refused("hello")
        await end(socket, Refusal("hello", "no hello came in time", retry=True), POLICY)
        return
    except ProtocolError as error:
        manager.metrics.refused(error.code)
        await end(socket, Refusal(error.code, str(error), retry=error.code == "hello"), POLICY)
        return
    except WebSocketDisconnect:
        return
    connection = _Viewer(socket, manager, rooms, name, hello)
    with rooms.watching(name, connection.wake.set):
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work()) for work in (connection.read, connection.write, connection.stopping)]
                await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
        finally:
            connection.leave()


class _Viewer:
    """One connection to a room."""

    def __init__(self, socket: WebSocket, manager: SessionManager, rooms: Rooms, name: str, hello: RoomHello) -> None:
        self.socket, self.manager, self._rooms, self._name, self._hello = socket, manager, rooms, name, hello
        self.wake = asyncio.Event()
        self._turn = -1
        """Of the room, as the viewer was told it last."""
        self._session: ActiveSession | None = None
        self._reader: EventReader | None = None
        self._sent = 0
        """Number of the last event of the session that the viewer has."""
        self._shown: TentativeText | None = None
        self._told_present: bool | None = None
        self._pongs = False
        self._refusal: Refusal | None = None

    async def read(self) -> None:
        """A viewer says nothing but pings."""
        bucket = Bucket(self.manager.limits.words_per_second, self.manager.limits.burst, time.monotonic())
        try:
            while True:
                if isinstance(parse_viewer(await receive(self.socket, SMALL_MESSAGE)), RoomHello):
                    raise ProtocolError("hello", "a second hello")
                self._pongs = True
                self.wake.set()
                await asyncio.sleep(bucket.take(1, time.monotonic()))
        except WebSocketDisconnect:
            return
        except ProtocolError as error:
            self.manager.metrics.refused(error.code)
            self._refusal = Refusal(error.code, str(error))
            self.wake.set()
        # The writer still has to say why.
        await asyncio.Event().wait()

    async def stopping(self) -> None:
        await self.manager.stopping.wait()
        self.wake.set()

    async def write(self) -> None:
        """Sends what the viewer has not got, until there is a reason to end."""
        try:
            while not self._over():
                self.wake.clear()
                room = self._rooms.get(self._name)
                if room is None:
                    self._refusal = NO_ROOM
                    break
                if room.turn != self._turn:
                    await self._enter(room)
                await self._send_news()
                if not self._over():
                    await self.wake.wait()
            if self.manager.draining:
                await self._send(GoingAway(self.manager.limits.retry_after))
                await end(self.socket, None, GOING_AWAY)
            else:
                await end(self.socket, self._refusal, POLICY)
        except (WebSocketDisconnect, RuntimeError):
            # Starlette raises RuntimeError for a socket that has been closed meanwhile.
            return
        except TimeoutError:
            self.manager.metrics.refused("slow")
        except StoreError as error:
            await end_without_store(self.socket, self.manager, error)

    def _over(self) -> bool:
        return self._refusal is not None or self.manager.draining

    def leave(self) -> None:
        """The session, not the room."""
        if self._session is not None and self._reader is not None:
            self.manager.leave(self._session, self._reader)
        self._session = self._reader = None

    async def _enter(self, room: StoredRoom) -> None:
        """Goes on with what the room shows now."""
        self._turn = room.turn
        first = await self._rooms.session_of(room)
        targets = [] if first is None else targets_of(self.manager, first)
        language, session_id = chosen(targets, self._hello.languages)
        news: list[ServerMessage] = []
        if self._session is None or self._session.id != session_id:
            self.leave()
            session = None if session_id is None else await self.manager.find(session_id)
            if session is not None:
                news.append(await self._join(session))
        languages = tuple({"language": code, "session": name} for code, name in targets)
        shown = None if self._session is None else self._session.id
        await self._send_line(ROOM.to_line(RoomState(room.name, room.title, shown, language, languages)))
        for message in news:
            await self._send(message)

    async def _join(self, session: ActiveSession) -> Welcome:
        self._reader, self._session = await self.manager.join(session, "viewer"), session
        self._reader.wake = self.wake
        self._told_present = None
        hello, at = self._hello, session.progress
        self._sent = min(hello.have, at.events) if hello.session == session.id else 0
        ms = round(1000 * (time.time() - session.began), 1)
        return Welcome(PROTOCOL, session.id, "viewer", at.inputs, at.events, ms, self.manager.limits.for_client())

    async def _send_news(self) -> None:
        if self._pongs:
            self._pongs = False
            await self._send(Pong())
        session, reader = self._session, self._reader
        if session is None or reader is None:
            return
        while self._sent < session.progress.events:
            news = await news_after(self.manager, session, self._sent)
            if news is None:
                break
            await self._send(news)
            self._sent = news.seq + len(news.events) - 1
        present = session.speaker_present(self.manager.cluster is not None) if self._hello.presence else None
        if present is not None and present != self._told_present:
            self._told_present = present
            await self._send(Presence(present))
        shown = session.tentative
        if self._hello.tentative and shown is not None and shown is not self._shown and shown.after == self._sent:
            self._shown = shown
            await self._send(shown)
        if reader.refusal is not None and reader.refusal.code == "deleted":
            # The room stays, as if nobody had begun.
            self.leave()
            self._turn = -1
            self.wake.set()
        elif reader.refusal is not None:
            self._refusal = reader.refusal

    async def _send(self, message: ServerMessage) -> None:
        await self._send_line(SERVER.to_line(message))

    async def _send_line(self, line: str) -> None:
        async with asyncio.timeout(self.manager.limits.stall):
            await self.socket.send_text(line)


def chosen(targets: Sequence[tuple[str, str]], wanted: Sequence[str]) -> tuple[str | None, str | None]:
    """Language and session of what a viewer reads: the first that is wanted, whatever its region, else the first."""
    for code in wanted:
        for exactly in (True, False):
            for language, session_id in targets:
                if code.lower() == language.lower() or (not exactly and _primary(code) == _primary(language)):
                    return language, session_id
    return targets[0] if targets else (None, None)


def _primary(code: str) -> str:
    return code.replace("_", "-").partition("-")[0].lower()
