"""One WebSocket: it reads what a speaker says, and writes what a follower has not seen (docs/protocol.md).

Reading and writing are two tasks. The writer takes events when the network takes them; a reader of the captions that
takes nothing for too long is cut. Whatever ends the connection, the session stays as it is.
"""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.websockets import WebSocket, WebSocketDisconnect

from turia.server.hub import Hub, RefusedError
from turia.server.limits import Bucket
from turia.server.live import Follower, Live
from turia.server.messages import (
    MAX_BYTES,
    Ack,
    Events,
    GoingAway,
    Hello,
    Notice,
    Ping,
    Pong,
    ProtocolError,
    Refusal,
    ServerMessage,
    Welcome,
    format_server,
    parse_client,
)
from turia.server.session import Word, inputs_of
from turia.server.store import StoreError

EVENTS_A_MESSAGE = 200
NORMAL, GOING_AWAY, POLICY, TRY_AGAIN = 1000, 1001, 1008, 1013
"""Codes with which a WebSocket closes."""
log = logging.getLogger("turia.server")


async def serve_socket(socket: WebSocket, hub: Hub) -> None:
    """A connection, from its hello to its end."""
    await socket.accept()
    try:
        try:
            # What the store takes its time for is not the client's fault.
            async with asyncio.timeout(hub.limits.hello):
                first = await _receive(socket)
        except TimeoutError:
            raise ProtocolError("hello", "no hello came in time") from None
        hello = parse_client(first)
        if not isinstance(hello, Hello):
            raise ProtocolError("hello", "the first message is a hello")
        live, follower = await _join(hub, hello)
    except ProtocolError as error:
        hub.metrics.refusals.labels(error.code).inc()
        # A machine that slept may come with an old ticket, or say nothing for long: it is to come again.
        await _end(socket, Refusal(error.code, str(error), retry=error.code in ("ticket", "hello")), POLICY)
        return
    except RefusedError as refused:
        await _end(socket, Refusal(refused.code, str(refused), retry=True), TRY_AGAIN)
        return
    except StoreError as error:
        hub.metrics.refusals.labels("store").inc()
        await _end(socket, Refusal("store", str(error), retry=True), TRY_AGAIN)
        return
    except WebSocketDisconnect:
        return
    try:
        await _converse(_Connection(socket, hub, live, follower, min(hello.have, live.events)))
    finally:
        hub.leave(live, follower)


async def _join(hub: Hub, hello: Hello) -> tuple[Live, Follower]:
    granted = await hub.use_ticket(hello.ticket)
    if granted is None:
        raise ProtocolError("ticket", "the ticket is unknown, used or too old; ask for another")
    session, role, turn = granted
    live = await hub.find(session)
    if live is None:
        raise ProtocolError("session", "the session is not known any more")
    return live, await hub.join(live, role, turn)


async def _receive(socket: WebSocket) -> str | bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    data: str | bytes | None = message.get("text")
    data = message["bytes"] if data is None else data
    if len(data) > MAX_BYTES:
        # Our own server does not let it come so far; another one in front may.
        raise ProtocolError("size", f"a message of more than {MAX_BYTES} bytes")
    return data


async def _end(socket: WebSocket, last: Refusal | None, code: int) -> None:
    """Says why, if there is something to say, and closes; a client that has gone or takes nothing is left."""
    try:
        async with asyncio.timeout(1):
            if last is not None:
                await socket.send_text(format_server(last))
            await socket.close(code)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        pass


async def _converse(connection: _Connection) -> None:
    """Reads and writes until one of them is done."""
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(connection.read())
        writing = group.create_task(connection.write())
        await asyncio.wait([reading, writing], return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        writing.cancel()


class _Connection:
    """The two halves of a conversation. Neither raises for what a client or the network does."""

    def __init__(self, socket: WebSocket, hub: Hub, live: Live, follower: Follower, have: int) -> None:
        self.socket, self.hub, self.live, self.follower = socket, hub, live, follower
        self._sent = have
        self._acknowledged = 0
        self._told_to_go = False

    # --- reading --------------------------------------------------------------------------------------------------

    async def read(self) -> None:
        """Takes messages until the client goes; what it may not say ends the conversation, by the writer."""
        try:
            await self._read_all()
        except WebSocketDisconnect:
            return
        except ProtocolError as error:
            self.hub.metrics.refusals.labels(error.code).inc()
            self.follower.refuse(Refusal(error.code, str(error), retry=error.code in ("gap", "idle")))
        # The writer still has to say why.
        await asyncio.Event().wait()

    async def _read_all(self) -> None:
        limits = self.hub.limits
        bucket = Bucket(limits.words_a_second, limits.burst, time.monotonic())
        while True:
            message = parse_client(await self._next())
            if self.hub.draining:
                continue
            if isinstance(message, Ping):
                if Pong() not in self.follower.outbox:
                    self._say(Pong())
                await asyncio.sleep(bucket.take(1, time.monotonic()))
                continue
            if isinstance(message, Hello):
                raise ProtocolError("hello", "a second hello")
            if self.follower.role != "speaker":
                raise ProtocolError("role", "a viewer only listens")
            if self.follower.refusal is not None:
                continue
            inputs = inputs_of(message)
            self.hub.take(self.live, inputs)
            words = sum(isinstance(item, Word) for item in inputs)
            await asyncio.sleep(bucket.take(max(1, words), time.monotonic()))

    async def _next(self) -> str | bytes:
        """The next message. A speaker who is silent for long is warned, then sent off; viewers may be silent."""
        limits = self.hub.limits
        if self.follower.role != "speaker":
            return await _receive(self.socket)
        try:
            async with asyncio.timeout(max(0.0, limits.idle - limits.idle_warning)):
                return await _receive(self.socket)
        except TimeoutError:
            self._say(Notice("idle", "nothing was said for long; say something to stay", limits.idle_warning))
        try:
            async with asyncio.timeout(limits.idle_warning):
                return await _receive(self.socket)
        except TimeoutError:
            raise ProtocolError("idle", "nothing was said for too long; the session can be resumed") from None

    def _say(self, message: ServerMessage) -> None:
        self.follower.outbox.append(message)
        self.follower.wake.set()

    # --- writing --------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Sends what the follower has not got, until there is a reason to end."""
        live = self.live
        try:
            await self._settle()
            told = self.hub.limits.told()
            ms = round(1000 * (time.time() - live.saved.began), 1)
            await self._send(Welcome(live.saved.id, self.follower.role, live.inputs, live.events, ms, told))
            self._acknowledged = live.inputs
            while True:
                self.follower.wake.clear()
                await self._send_news()
                if self._finished():
                    break
                await self.follower.wake.wait()
        except (WebSocketDisconnect, RuntimeError):
            # Starlette raises RuntimeError for a socket that has been closed meanwhile.
            return
        except TimeoutError:
            self.hub.metrics.refusals.labels("slow").inc()
            log.info("a reader that took nothing was cut")
            return
        except StoreError as error:
            self.hub.metrics.refusals.labels("store").inc()
            await _end(self.socket, Refusal("store", str(error), retry=True), TRY_AGAIN)
            return
        if self.hub.draining:
            await _end(self.socket, None, GOING_AWAY)
        else:
            await _end(self.socket, self.follower.refusal, POLICY if self.follower.refusal else NORMAL)

    async def _settle(self) -> None:
        """Waits until what the speaker's last connection sent is stored: numbers go on after that."""
        live, follower = self.live, self.follower
        while follower.role == "speaker" and live.received > live.inputs and follower.refusal is None:
            follower.wake.clear()
            await follower.wake.wait()

    async def _send_news(self) -> None:
        live, follower = self.live, self.follower
        if self.hub.draining and not self._told_to_go:
            self._told_to_go = True
            await self._send(GoingAway(self.hub.limits.retry_after))
        while follower.outbox:
            await self._send(follower.outbox.popleft())
        # The count is read first: an acknowledged input never runs ahead of its events.
        inputs = live.inputs
        while self._sent < live.events:
            first, events = await self.hub.events_after(live, self._sent, EVENTS_A_MESSAGE)
            if not events:
                # Forgotten by the store, long after everybody's last word.
                self._sent = live.events
                break
            if first > self._sent + 1:
                # The store does not keep the beginning, which told the settings: they take the place of its last event.
                settings = await self.hub.settings_in_force(live)
                first, events = (first, events) if settings is None else (first - 1, [settings, *events])
            await self._send(Events(first, tuple(events)))
            self._sent = first + len(events) - 1
        if follower.role == "speaker" and self._acknowledged < inputs:
            self._acknowledged = inputs
            await self._send(Ack(inputs))

    def _finished(self) -> bool:
        """Whether the conversation is over: refused, or all is done and told."""
        live = self.live
        if self.follower.refusal is not None:
            return True
        told = self._sent == live.events and (self.follower.role != "speaker" or self._acknowledged == live.inputs)
        return (self.hub.draining or live.ended) and live.received == live.inputs and told

    async def _send(self, message: ServerMessage) -> None:
        async with asyncio.timeout(self.hub.limits.stall):
            await self.socket.send_text(format_server(message))
