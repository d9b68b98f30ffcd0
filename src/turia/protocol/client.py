"""A client of `turia serve` in Python: words in, events out, whatever the network does (docs/protocol.md).

    async with Speaker("http://127.0.0.1:8000") as speaker:
        await speaker.say("Guten", "Tag")
        await speaker.end()
        async for event in speaker.events():
            ...

Words are kept until the server has acknowledged them. When the connection is lost, the client connects again, sends
what was not acknowledged, and asks for the events that it has not got: none is lost, none comes twice. If the server
has lost acknowledged data (for example after restoring a backup), the session ends with an error.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from math import isfinite
from types import TracebackType
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from turia.errors import InputError, ResourceError
from turia.protocol.calls import BusyError, UnreachableError, begin_session, get_ticket
from turia.protocol.client_messages import (
    CLIENT,
    EndOfStream,
    Hello,
    InputMessage,
    NewSession,
    PartialWords,
    Pause,
    SettingsChange,
    Words,
)
from turia.protocol.server_messages import Ack, Events, GoingAway, Refusal, TentativeText, Welcome, parse_server
from turia.protocol.values import MAX_LETTERS, PROTOCOL
from turia.schema import to_dict

__all__ = ["BusyError", "Follower", "LostError", "Speaker", "UnreachableError"]

WORDS_PER_MESSAGE = 20
"""Even the longest words, of letters with four bytes each, then fit into the 64 KiB that a server takes."""
UNACKNOWLEDGED = 500
"""Inputs sent ahead of the server; fewer than it allows."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
Event = dict[str, Any]
"""As it came over the wire: a server of a later release may say more than this one knows."""


class LostError(ResourceError):
    """The server has lost inputs that it had acknowledged, or events that it had sent."""


class Follower:
    """Follows a session: its events, in order, each once. `session` is the session's name, as in /watch/NAME."""

    def __init__(self, url: str, session: str, on_tentative: Callable[[TentativeText], None] | None = None) -> None:
        """`on_tentative` is told what may still change: the recogniser's tail, and what would be written for it."""
        self.url, self.session = url.rstrip("/"), session
        self._on_tentative = on_tentative
        self._tail_words = 0
        """Words of a tail that the server takes; one of release 0.1 takes none."""
        self.connections = 0
        """How often the client has connected."""
        self.welcomed_ms = 0.0
        """What the session's clock showed when the client connected last."""
        self.began: float | None = None
        """The Unix time at which the session's clock showed 0; None before the client has connected."""
        self._secret: str | None = None
        self._have = 0
        self._newest: Event | None = None
        """The event with the number `_have`."""
        self._retry_after = 0.0
        """Seconds that a server which is stopping has asked to wait."""
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._socket: ClientConnection | None = None
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Follower:
        self._running = asyncio.create_task(self._run())
        self._running.add_done_callback(self._stopped)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def events(self) -> AsyncIterator[Event]:
        """The events of the session, up to its end."""
        while True:
            event = await self._events.get()
            if isinstance(event, Exception):
                raise event
            yield event
            if event.get("type") == "end":
                return

    @property
    def connected(self) -> bool:
        return self._socket is not None

    # --- the conversation -----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        """Connects, again and again, until the session has ended or the server refuses for good."""
        wait = FIRST_WAIT
        while True:
            have, self._retry_after = self._have, 0.0
            try:
                if await self._converse():
                    return
            except (InputError, LostError) as error:
                self._failed(error)
                return
            except (OSError, WebSocketException, BusyError):
                # The server or the network is away for a while.
                pass
            finally:
                self._socket = None
            wait = FIRST_WAIT if self._have > have else min(LONGEST_WAIT, 2 * wait)
            await asyncio.sleep(max(wait, self._retry_after))

    async def _converse(self) -> bool:
        """One connection; True when the session has ended."""
        ticket = await asyncio.to_thread(get_ticket, self.url, self.session, self._secret)
        async with connect(_socket_url(self.url), compression=None, max_size=2**22) as socket:
            # The newest event is asked for once more, to be compared: a store that was restored from a backup may have
            # passed its number since.
            hello = Hello(PROTOCOL, ticket, max(0, self._have - 1), self._on_tentative is not None)
            await socket.send(CLIENT.to_line(hello))
            async for text in socket:
                match parse_server(text):
                    case Welcome(last_input=inputs, last_event=events, limits=limits, ms=ms):
                        self.connections += 1
                        self.welcomed_ms, self.began = ms, time.time() - ms / 1000
                        self._tail_words = limits.get("tail", 0)
                        self._socket = socket
                        await self._welcomed(inputs, events)
                    case Events() as message:
                        if self._take(message):
                            return True
                    case Ack(seq):
                        self._acknowledged(seq)
                    case TentativeText(after) as shown:
                        if self._on_tentative is not None and after == self._have:
                            self._on_tentative(shown)
                    case Refusal(code="idle"):
                        self._socket = None
                        await self._rest()
                    case Refusal(code, message_text, retry=False):
                        raise InputError(f"the server refuses: {message_text} ({code})")
                    case GoingAway(seconds):
                        # Events that it still has to send come first.
                        self._retry_after = seconds
        return False

    def _take(self, message: Events) -> bool:
        """New events; True if the last of the session is among them."""
        for seq, event in enumerate(message.events, start=message.seq):
            # Another server may be a little behind and send some again; but they are the same. Settings may take the
            # place of an event that the server does not keep any more.
            if seq == self._have and event != self._newest and event.get("type") != "settings":
                raise LostError(f"event {seq} is another than before: the server has lost events of this session")
            # Numbers have a gap where a session is older than what the server keeps of it.
            if seq > self._have:
                self._have, self._newest = seq, event
                self._events.put_nowait(event)
                if event.get("type") == "end":
                    return True
        return False

    def _failed(self, error: Exception) -> None:
        """Ends the client with an error."""
        self._events.put_nowait(error)

    def _stopped(self, running: asyncio.Task[None]) -> None:
        """An error that nobody foresaw is told, too: whoever waits for events would wait for ever."""
        if not running.cancelled() and isinstance(error := running.exception(), Exception):
            self._failed(error)

    async def _rest(self) -> None:
        """Waits for a reason to reconnect, after the server has disconnected a silent client."""

    async def _welcomed(self, inputs: int, events: int) -> None:
        """Notes that the server has stored inputs up to `inputs`, and their events, up to `events`."""

    def _acknowledged(self, seq: int) -> None:
        """Forgets inputs up to `seq`, which the server has stored."""


class Speaker(Follower):
    """Begins a session, speaks in it and follows it."""

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        k: int | None = None,
        punctuation: bool = False,
        key: str | None = None,
        policy: str | None = None,
        target_lag: str | None = None,
        pause: float | None = None,
        on_tentative: Callable[[TentativeText], None] | None = None,
        also: Sequence[str] = (),
        room: str | None = None,
        take_room: bool = False,
        segmentation: Literal["model", "punctuation", "free"] | None = None,
        latencies: Sequence[str] = (),
    ) -> None:
        """`policy`: when words are written; `k` is short for wait-k. Without either, what the server has for the model.
        `target_lag`: the mean lag to keep, such as "5" (words) or "3s". `pause`: seconds of silence after which the
        server closes a sentence, 0 for never; by default its own.

        `also`: further models, which translate the same words into other languages. `room`: where the audience is;
        `take_room`: also if somebody speaks there already. `latencies`: further ones for the audience to choose from,
        each a k such as "8" or a policy.
        """
        super().__init__(url, "", on_tentative)
        if k is not None and policy is not None:
            raise InputError("policy and k are both given; k is short for policy wait-k")
        self._chosen = NewSession(
            model, k, punctuation, policy, pause, target_lag, also=tuple(also), room=room, take_room=take_room,
            segmentation=segmentation, latencies=tuple(latencies),
        )  # fmt: skip
        self.page = ""
        """The address of the audience's page, once the session has begun."""
        self.operator_page = ""
        """The address of the page that corrects and steers the session; it asks for a key."""
        self.languages: dict[str, str] = {}
        """The session of each target language."""
        self._key = key
        self._next = 1
        self._unacknowledged: deque[InputMessage] = deque()
        """Inputs that are not acknowledged, oldest first; one word each."""
        self._room = asyncio.Event()
        self._room.set()
        self._added = asyncio.Event()
        self._sent = 0
        self._sending = asyncio.Lock()
        self._failure: Exception | None = None

    async def __aenter__(self) -> Speaker:
        begun, languages = await asyncio.to_thread(begin_session, self.url, self._key, to_dict(self._chosen))
        self.session, self._secret = begun.session, begun.secret
        if self._chosen.room is not None and begun.url is None:
            raise InputError(f"{self.url}: this server is of a release that has no rooms")
        self.page = begun.url or f"{self.url}/watch/{self.session}"
        self.operator_page = f"{self.url}/operate/{self.session}"
        self.languages = {item.language: item.session for item in languages}
        await super().__aenter__()
        return self

    async def say(self, *words: str, at: float | None = None) -> None:
        """Sends source words, in order; `at` is when they ended, in milliseconds of the speaker's own clock.

        Waits while too many are on their way. A word of more than 200 letters goes as several.
        """
        if at is not None and not isfinite(at):
            raise InputError(f"at is {at!r}, expected a number of milliseconds")
        times = None if at is None else (at,)
        for word in _words(" ".join(words)):
            await self._add(partial(Words, words=(word,), times=times))
        await self._send()

    async def partial(self, text: str) -> None:
        """What the recogniser hears after the words that were said, and may still revise: its whole unstable tail.

        It may bring words out earlier, and is shown in grey. It is not kept: where the connection is lost, or words are
        still on their way, it is left out, and the next one takes its place.
        """
        async with self._sending:
            socket = self._socket
            if socket is None or not self._tail_words or self._sent != self._next - 1:
                return
            words = tuple(islice(_words(text), self._tail_words))
            with suppress(OSError, WebSocketException):
                await socket.send(CLIENT.to_line(PartialWords(self._sent, words)))

    async def pause(self, speaker: str | None = None) -> None:
        """The sentence is over; `speaker` is the name of who speaks from here on, if that is another."""
        await self._add(partial(Pause, speaker=speaker))
        await self._send()

    async def change(
        self,
        *,
        k: int | None = None,
        model: str | None = None,
        policy: str | None = None,
        target_lag: str | None = None,
    ) -> None:
        """Changes the latency from the next sentence on, or the direction at once."""
        await self._add(partial(SettingsChange, k=k, model=model, policy=policy, target_lag=target_lag))
        await self._send()

    async def end(self) -> None:
        """Ends the session: nothing follows."""
        await self._add(EndOfStream)
        await self._send()

    async def _add(self, message: Callable[[int], InputMessage]) -> None:
        """The next input; `message` makes it, given its number."""
        while self._failure is None and len(self._unacknowledged) >= UNACKNOWLEDGED:
            # Cleared first: the acknowledgement may come while this is being sent.
            self._room.clear()
            await self._send()
            await self._room.wait()
        if self._failure is not None:
            raise self._failure
        self._unacknowledged.append(message(self._next))
        self._next += 1
        self._added.set()

    async def _send(self) -> None:
        """Sends what this connection has not sent. If it breaks, the next one sends it again."""
        async with self._sending:
            socket = self._socket
            if socket is None:
                return
            new = [message for message in self._unacknowledged if message.seq > self._sent]
            with suppress(OSError, WebSocketException):
                for message in _joined(new):
                    await socket.send(CLIENT.to_line(message))
            self._sent = max(self._sent, new[-1].seq if new else 0)

    async def _rest(self) -> None:
        """Waits until there is something to say, so that no place is held for nothing."""
        self._added.clear()
        if not self._unacknowledged:
            await self._added.wait()

    def _failed(self, error: Exception) -> None:
        super()._failed(error)
        self._failure = error
        self._room.set()

    async def _welcomed(self, inputs: int, events: int) -> None:
        oldest = self._unacknowledged[0].seq if self._unacknowledged else self._next
        if inputs + 1 < oldest:
            raise LostError(f"the server has lost inputs {inputs + 1} to {oldest - 1}; begin a new session")
        # Only where a speaker is, a server must be up to date: to viewers it may be a little behind.
        if events < self._have:
            raise LostError(f"the server has lost events {events + 1} to {self._have}; begin a new session")
        self._acknowledged(inputs)
        self._sent = inputs
        await self._send()

    def _acknowledged(self, seq: int) -> None:
        while self._unacknowledged and self._unacknowledged[0].seq <= seq:
            self._unacknowledged.popleft()
        if len(self._unacknowledged) < UNACKNOWLEDGED:
            self._room.set()


def _words(text: str) -> Iterator[str]:
    """Words as the server takes them: no white space in them, at most 200 letters, no half characters."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for word in whole.split():
        for begin in range(0, len(word), MAX_LETTERS):
            yield word[begin : begin + MAX_LETTERS]


def _joined(messages: Sequence[InputMessage]) -> list[InputMessage]:
    """The same inputs in fewer messages: neighbouring words share one, if all or none of them have times."""
    joined: list[InputMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if not isinstance(message, Words) or not isinstance(last, Words) or len(last.words) >= WORDS_PER_MESSAGE:
            joined.append(message)
        elif last.times is None and message.times is None:
            joined[-1] = Words(last.seq, last.words + message.words)
        elif last.times is not None and message.times is not None:
            joined[-1] = Words(last.seq, last.words + message.words, last.times + message.times)
        else:
            joined.append(message)
    return joined


def _socket_url(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme="wss" if parts.scheme == "https" else "ws", path=f"{parts.path}/socket"))
