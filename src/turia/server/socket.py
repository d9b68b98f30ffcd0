"""One WebSocket: it reads what a speaker says, and writes what its client has not seen (docs/protocol.md).

Reading and writing are two tasks. Events are sent as fast as the network takes them; a client that takes nothing for
too long is disconnected. Whatever ends the connection, the session stays as it is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from turia.protocol.client_messages import ClientMessage, Hello, Hush, Listen, PartialWords, Ping, Words, parse_client
from turia.protocol.server_messages import (
    SERVER,
    Ack,
    Events,
    GoingAway,
    Notice,
    Pong,
    Presence,
    Refusal,
    ServerMessage,
    SoundTrouble,
    TentativeText,
    Welcome,
)
from turia.protocol.sound import SOUND_RATE, is_sound, parse_sound
from turia.protocol.values import MAX_BYTES, PROTOCOL, ProtocolError
from turia.server.admission import RefusedError
from turia.server.audio import Ear, Ears, SoundLimits
from turia.server.captions import inputs_of
from turia.server.limits import LISTEN_WORDS, SMALL_MESSAGE, Bucket, words_for
from turia.server.session import ActiveSession, EventReader
from turia.server.sessions import SessionManager
from turia.server.stores.base import DamagedError, StoreError
from turia.server.tracebacks import described
from turia.stream.silence import Silence

EVENTS_PER_MESSAGE = 200
NORMAL, GOING_AWAY, POLICY, FAILED, TRY_AGAIN = 1000, 1001, 1008, 1011, 1013
"""Codes with which a WebSocket closes."""
log = logging.getLogger("turia.server")


async def serve_socket(socket: WebSocket, manager: SessionManager, address: str = "", ears: Ears | None = None) -> None:
    """A connection of a client at this address, from its hello to its end."""
    try:
        await _serve(socket, manager, address, ears)
    except Exception as error:
        # Nobody foresaw it: a client that came back would meet it again.
        log.error("a connection failed\n%s", described(error))
        manager.metrics.refused("failed")
        await end(socket, Refusal("failed", "the server failed; what was acknowledged is safe"), FAILED)


async def _serve(socket: WebSocket, manager: SessionManager, address: str, ears: Ears | None) -> None:
    await socket.accept()
    try:
        try:
            # Only the hello is limited: a slow store is not the client's fault.
            with manager.hellos.awaited_from(address):
                async with asyncio.timeout(manager.limits.hello):
                    first = await receive(socket, SMALL_MESSAGE)
        except TimeoutError:
            raise ProtocolError("hello", "no hello came in time") from None
        hello = parse_client(first)
        if not isinstance(hello, Hello):
            raise ProtocolError("hello", "the first message is a hello")
        session, reader = await _join(manager, hello)
        reader.tentative, reader.presence = hello.tentative, hello.presence
    except ProtocolError as error:
        manager.metrics.refused(error.code)
        # A machine that slept may come with an old ticket, or say nothing for long: it is to try again.
        await end(socket, Refusal(error.code, str(error), retry=error.code in ("ticket", "hello")), POLICY)
        return
    except RefusedError as refused:
        await end(socket, Refusal(refused.code, str(refused), retry=True), TRY_AGAIN)
        return
    except StoreError as error:
        await end_without_store(socket, manager, error)
        return
    except WebSocketDisconnect:
        return
    connection = _Connection(socket, manager, session, reader, min(hello.have, session.progress.events), ears)
    try:
        await _converse(connection)
    finally:
        connection.stop_listening()
        manager.leave(session, reader)


async def _join(manager: SessionManager, hello: Hello) -> tuple[ActiveSession, EventReader]:
    admission = await manager.use_ticket(hello.ticket)
    if admission is None:
        raise ProtocolError("ticket", "the ticket is unknown, used or too old; ask for another")
    session = await manager.find(admission.session_id)
    if session is None:
        raise ProtocolError("session", "the session is not known any more")
    return session, await manager.join(session, admission.role, admission.turn)


async def receive(socket: WebSocket, most: int = MAX_BYTES) -> str | bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1006))
    data: str | bytes | None = message.get("text")
    data = message["bytes"] if data is None else data
    if len(data) > most:
        # More than MAX_BYTES our own server does not let come so far; another one in front may.
        raise ProtocolError("size", f"a message of more than {most} bytes")
    return data


async def end(socket: WebSocket, last: Refusal | None, code: int) -> None:
    """Says why, if there is something to say, and closes; a client that has gone or takes nothing is left."""
    try:
        async with asyncio.timeout(1):
            if last is not None:
                await socket.send_text(SERVER.to_line(last))
            await socket.close(code)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        pass


async def end_without_store(socket: WebSocket, manager: SessionManager, error: StoreError) -> None:
    """Whether the store is away, which passes, or has something else than what was stored, which does not."""
    code = "damaged" if isinstance(error, DamagedError) else "store"
    manager.metrics.refused(code)
    retry = code == "store"
    await end(socket, Refusal(code, str(error), retry), TRY_AGAIN if retry else POLICY)


async def news_after(manager: SessionManager, session: ActiveSession, sent: int) -> Events | None:
    """The next few events for a client that has those up to number `sent`; None where the store has no more."""
    first, events = await manager.events_after(session, sent, EVENTS_PER_MESSAGE)
    if not events:
        return None
    if first > sent + 1:
        # The store does not keep the beginning, which has the settings: they take the place of its last event.
        settings = await manager.settings_in_force(session)
        first, events = (first, events) if settings is None else (first - 1, [settings, *events])
    return Events(first, tuple(events))


async def _converse(connection: _Connection) -> None:
    """Reads and writes until one of them is done."""
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(connection.read())
        writing = group.create_task(connection.write())
        watching = group.create_task(connection.watch_silence())
        await asyncio.wait([reading, writing], return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, writing, watching):
            task.cancel()


class _Connection:
    """The two halves of a conversation. Neither raises for what a client or the network does."""

    def __init__(
        self,
        socket: WebSocket,
        manager: SessionManager,
        session: ActiveSession,
        reader: EventReader,
        have: int,
        ears: Ears | None = None,
    ) -> None:
        self.socket, self.manager, self.session, self.reader = socket, manager, session, reader
        self._ears = ears
        self._ear: Ear | None = None
        """Listens to the speaker, if the client has asked for it."""
        self._unheard = Bucket(SoundLimits.rate, SoundLimits.burst, time.monotonic())
        self._active, self._warned = time.monotonic(), False
        """When the client said something last, and whether it was warned since."""
        self._sent = have
        """Number of the last event that the client has."""
        self._acknowledged = 0
        self._said_goodbye = False
        self._told_present: bool | None = None
        """Whether the client was told last that the speaker is there."""
        self._shown: TentativeText | None = None
        """What the client was told last of what may still change."""
        self._silence = Silence(manager.pause_of(session) if reader.role == "speaker" else 0.0)
        self._spoke = asyncio.Event()
        if session.progress.inputs:
            # The last words of the connection before this one may hang.
            self._silence.said(time.monotonic())

    # --- reading --------------------------------------------------------------------------------------------------

    async def read(self) -> None:
        """Takes messages until the client goes. What it may not say ends the connection: the writer says why."""
        try:
            await self._read_all()
        except WebSocketDisconnect:
            return
        except ProtocolError as error:
            self.manager.metrics.refused(error.code)
            self.reader.refuse(Refusal(error.code, str(error), retry=error.code in ("gap", "idle")))
        # The writer still has to say why.
        await asyncio.Event().wait()

    async def _read_all(self) -> None:
        limits = self.manager.limits
        bucket = Bucket(limits.words_per_second, limits.burst, time.monotonic())
        while True:
            data = await self._next()
            if isinstance(data, bytes) and is_sound(data):
                await asyncio.sleep(self._hear(data))
                continue
            while (rest := self.manager.seconds_for(self.session.owner, data)) > 0:
                await asyncio.sleep(rest)
            message = parse_client(data)
            if self.manager.draining:
                continue
            if isinstance(message, Ping):
                if Pong() not in self.reader.outbox:
                    self._say(Pong())
                await asyncio.sleep(bucket.take(1, time.monotonic()))
                continue
            if isinstance(message, Hello):
                raise ProtocolError("hello", "a second hello")
            if self.reader.role != "speaker":
                raise ProtocolError("role", "a viewer only listens")
            if self.reader.refusal is not None:
                continue
            if isinstance(message, Listen | Hush):
                self._listen(message)
                await asyncio.sleep(bucket.take(LISTEN_WORDS, time.monotonic()))
                continue
            if isinstance(message, PartialWords):
                self.manager.take_tail(self.session, message)
            else:
                self.manager.take(self.session, inputs_of(message))
            self._note_speech(message)
            words = len(message.words) if isinstance(message, Words | PartialWords) else 1
            rest = bucket.take(words_for(words, data), time.monotonic())
            await asyncio.sleep(max(rest, self.manager.occupancy.seconds_to_wait(self.session, words)))

    def _note_speech(self, message: ClientMessage) -> None:
        self._silence.will_wait()
        if isinstance(message, Words) or (isinstance(message, PartialWords) and message.words):
            self._silence.said(time.monotonic(), partial=isinstance(message, PartialWords))
        elif not isinstance(message, PartialWords):
            self._silence.paused()
        self._spoke.set()

    async def watch_silence(self) -> None:
        """Closes the sentence whenever the speaker has stopped."""
        while True:
            self._spoke.clear()
            left = self._silence.left(time.monotonic())
            if left == 0.0:
                self._silence.paused()
                self.manager.take_silence(self.session)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._spoke.wait()

    async def _next(self) -> str | bytes:
        """The next message. A speaker who is silent for long is warned, then disconnected; viewers may be silent.

        Sound alone is silence: a microphone that somebody forgot hears no words, or none that anybody means.
        """
        limits = self.manager.limits
        if self.reader.role != "speaker":
            return await receive(self.socket, SMALL_MESSAGE)
        while True:
            due = self._active + limits.idle - (0.0 if self._warned else limits.idle_warning)
            with suppress(TimeoutError):
                if time.monotonic() >= due:
                    raise TimeoutError
                async with asyncio.timeout(due - time.monotonic()):
                    data = await receive(self.socket)
                if not is_sound(data):
                    self._active, self._warned = time.monotonic(), False
                return data
            if self._warned:
                raise ProtocolError("idle", "nothing was said for too long; the session can be resumed")
            self._warned = True
            self._say(Notice("idle", "nothing was said for long; say something to stay", limits.idle_warning))

    # --- sound ----------------------------------------------------------------------------------------------------

    def _hear(self, data: bytes) -> float:
        """Some sound; gives the seconds to wait before more is read. What comes while nobody listens is passed over."""
        if self.reader.role != "speaker":
            raise ProtocolError("role", "a viewer only listens")
        piece = parse_sound(data)
        if self._ear is None or self._ear.over or self.manager.draining or self.reader.refusal is not None:
            return self._unheard.take(piece.samples / SOUND_RATE, time.monotonic())
        return self._ear.take(piece)

    def _listen(self, message: Listen | Hush) -> None:
        """Begins to listen, or ends it. What an earlier ear has not told is lost with it: the client begins anew."""
        if isinstance(message, Hush):
            if self._ear is not None and not self._ear.over:
                self._ear.end()
            return
        self.stop_listening()
        if self._ears is None:
            self._say(SoundTrouble("language", "this server recognises no speech", True))
            return
        found = self._ears.begin(message, self.reader.wake.set, self.manager.limits.pause)
        if isinstance(found, SoundTrouble):
            self.manager.metrics.refused(f"sound-{found.code}")
            self._say(found)
        else:
            self._ear = found
            self.reader.wake.set()

    def stop_listening(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None

    def _say(self, message: ServerMessage) -> None:
        self.reader.outbox.append(message)
        self.reader.wake.set()

    # --- writing --------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Sends what the client has not got, until there is a reason to end."""
        session, reader = self.session, self.reader
        try:
            await self._settle()
            ms, at = round(1000 * (time.time() - session.began), 1), session.progress
            limits = self.manager.limits.for_client()
            await self._send(Welcome(PROTOCOL, session.id, reader.role, at.inputs, at.events, ms, limits))
            self._acknowledged = at.inputs
            while True:
                reader.wake.clear()
                await self._send_news()
                if self._finished():
                    break
                await reader.wake.wait()
        except (WebSocketDisconnect, RuntimeError):
            # Starlette raises RuntimeError for a socket that has been closed meanwhile.
            return
        except TimeoutError:
            self.manager.metrics.refused("slow")
            log.info("a client that took nothing was disconnected")
            return
        except StoreError as error:
            await end_without_store(self.socket, self.manager, error)
            return
        if self.manager.draining:
            await end(self.socket, None, GOING_AWAY)
        else:
            await end(self.socket, reader.refusal, POLICY if reader.refusal else NORMAL)

    async def _settle(self) -> None:
        """Waits until what the speaker's last connection sent is stored: numbers go on after that."""
        session, reader = self.session, self.reader
        while reader.role == "speaker" and session.in_work and reader.refusal is None:
            reader.wake.clear()
            await reader.wake.wait()

    async def _send_news(self) -> None:
        session, reader = self.session, self.reader
        if self.manager.draining and not self._said_goodbye:
            self._said_goodbye = True
            await self._send(GoingAway(self.manager.limits.retry_after))
        while reader.outbox:
            await self._send(reader.outbox.popleft())
        while self._ear is not None and (news := self._ear.news()) is not None:
            await self._send(news)
        # The count is read first: an input is never acknowledged before its events are sent.
        inputs = session.progress.inputs
        while self._sent < session.progress.events:
            await self._send_events()
        if reader.role == "speaker" and self._acknowledged < inputs:
            self._acknowledged = inputs
            await self._send(Ack(inputs))
        present = session.speaker_present(self.manager.cluster is not None) if reader.presence else None
        if present is not None and present != self._told_present:
            self._told_present = present
            await self._send(Presence(present))
        shown = session.tentative
        if reader.tentative and shown is not None and shown is not self._shown and shown.after == self._sent:
            self._shown = shown
            await self._send(shown)

    async def _send_events(self) -> None:
        """The next few."""
        news = await news_after(self.manager, self.session, self._sent)
        if news is None:
            # The store has deleted the session, long after everybody's last word.
            self._sent = self.session.progress.events
            return
        await self._send(news)
        if self._ear is not None:
            self._ear.captioned(news.events)
        self._sent = news.seq + len(news.events) - 1

    def _finished(self) -> bool:
        """Whether the conversation is over: refused, or the session has ended and all of it is sent."""
        session, reader = self.session, self.reader
        if reader.refusal is not None:
            return True
        at = session.progress
        all_sent = self._sent == at.events and (reader.role != "speaker" or self._acknowledged == at.inputs)
        return (self.manager.draining or at.ended) and not session.in_work and all_sent

    async def _send(self, message: ServerMessage) -> None:
        async with asyncio.timeout(self.manager.limits.stall):
            await self.socket.send_text(SERVER.to_line(message))
