"""The connections themselves, before anybody knows who speaks: how many, how slow, how noisy (docs/security.md).

uvicorn's two protocols with limits of ours. Each rule holds for every connection, whatever is sent on it:

- A request comes whole, headers and body, within `Limits.request` seconds of its first byte, or of the connection.
- At most `most` connections are open. One more takes the place of the one that has waited longest for its request.
- Control frames and fragments of a WebSocket are counted, and so is all that comes after our close. Too many end it.
- While a client takes nothing, nothing is read from it. After `Limits.stall` seconds the connection is aborted: a
  close would wait until the client has taken what is left.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.frames import Frame
from websockets.http11 import Response

from turia.errors import ResourceError
from turia.server.answers import error_answer
from turia.server.limits import Bucket, Limits

FRAMES_PER_SECOND, FRAMES_AT_ONCE = 20.0, 200.0
"""Control frames and fragments. Browsers send a few of them in a minute."""
SLICE = 1200
"""Bytes that are parsed at once: as many empty frames as may come at once, two milliseconds."""
CLOSE_SECONDS = 2.0
"""For a client to answer a close."""
SPARE_FILES = 100
"""Open files that are no connections: the store, models, logs."""
FEWEST_CONNECTIONS = 32
POLICY = 1008
NO_HTTP = "this is no HTTP request that the server understands"
NO_SOCKET = "this is no handshake of a WebSocket that the server understands"
GIVEN_UP = "the server stops or has failed; this WebSocket does not begin"
log = logging.getLogger("turia.server")


def _raw_error(status: int, reason: str, message: str) -> bytes:
    """An error as every route gives it, for a request that never came to a route."""
    answer = error_answer(status, message, headers={"connection": "close"})
    headers = b"".join(b"%b: %b\r\n" % header for header in answer.raw_headers)
    return f"HTTP/1.1 {status} {reason}\r\n".encode() + headers + b"\r\n" + bytes(answer.body)


def _rejected(status: HTTPStatus | int, text: str) -> Response:
    """The same for a handshake that websockets refuses, or that uvicorn gives up."""
    answer = error_answer(status, NO_SOCKET if status < 500 else GIVEN_UP, headers={"connection": "close"})
    headers = Headers((name.decode(), value.decode()) for name, value in answer.raw_headers)
    return Response(int(status), HTTPStatus(status).phrase, headers, bytes(answer.body))


class Connections:
    """All open connections of a server, and those among them that have not sent a whole request, oldest first."""

    def __init__(self, limits: Limits, most: int, refused: Callable[[str], None]) -> None:
        self.limits, self._most, self.refused = limits, most, refused
        self._count = 0
        self._waiting: dict[GuardedHttp, None] = {}

    def admit(self, connection: GuardedHttp) -> bool:
        """Whether the connection may stay; it waits for a request then."""
        self._count += 1
        if self._count > self._most:
            self.refused("connections")
            if not self._waiting:
                return False
            oldest = next(iter(self._waiting))
            self.heard(oldest)
            oldest.transport.abort()
        self.waits(connection)
        return True

    def waits(self, connection: GuardedHttp) -> None:
        self._waiting[connection] = None

    def heard(self, connection: GuardedHttp) -> None:
        """It has sent a whole request, or is gone."""
        self._waiting.pop(connection, None)

    def gone(self) -> None:
        self._count -= 1


class GuardedConfig(uvicorn.Config):
    """uvicorn's settings, with what its protocols need to know of ours."""

    def __init__(self, app: Any, connections: Connections, **settings: Any) -> None:
        super().__init__(app, http=GuardedHttp, ws=GuardedSocket, **settings)
        self.guard = connections


class _Deadline:
    """Something happens unless it is cleared in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, late: Callable[[], None]) -> None:
        self._loop, self._late = loop, late
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, seconds: float) -> None:
        """From now, unless it runs already."""
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._late)

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GuardedHttp(H11Protocol):
    """HTTP until a WebSocket begins."""

    def __init__(self, config: uvicorn.Config, *arguments: Any, **others: Any) -> None:
        super().__init__(config, *arguments, **others)
        assert isinstance(config, GuardedConfig)
        self._guard = config.guard
        self._request = _Deadline(self.loop, self._too_slow)
        self._stall = _Deadline(self.loop, self._abort)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._guard.admit(self):
            self._request.begin(self._guard.limits.request)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._release()
        self._stall.clear()
        self._guard.gone()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        switched = self.transport.get_protocol() is not self
        if not switched and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._request.begin(self._guard.limits.request)
        else:
            self._release()
        if self.transport.is_closing():
            self._stall.begin(CLOSE_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._stall.begin(self._guard.limits.stall)
        else:
            self._guard.waits(self)
            if self.conn.their_state is h11.SEND_BODY:
                # The next request came behind the last one, but not all of it.
                self._request.begin(self._guard.limits.request)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        # What it has not taken of the last answer is not waited for.
        self._stall.begin(CLOSE_SECONDS)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall.begin(self._guard.limits.stall)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall.clear()

    def _release(self) -> None:
        """The request is whole."""
        self._request.clear()
        self._guard.heard(self)

    def _too_slow(self) -> None:
        self._guard.refused("slow-request")
        answering = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not answering and not self.transport.get_write_buffer_size():
            self.transport.write(_raw_error(408, "Request Timeout", "the request did not come whole in time"))
        self.transport.close()
        self._stall.begin(CLOSE_SECONDS)

    def send_400_response(self, msg: str) -> None:
        """uvicorn's own is plain text, which is no error of this server's shape."""
        self.transport.write(_raw_error(400, "Bad Request", NO_HTTP))
        self.transport.close()

    def _abort(self) -> None:
        self.transport.abort()


class GuardedSocket(WebSocketsSansIOProtocol):
    """A WebSocket, from its handshake on."""

    def __init__(self, config: uvicorn.Config, *arguments: Any, **others: Any) -> None:
        super().__init__(config, *arguments, **others)
        assert isinstance(config, GuardedConfig)
        self._guard = config.guard
        self.close_timeout = CLOSE_SECONDS
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_AT_ONCE, self.loop.time())
        self._stall = _Deadline(self.loop, self._abort)
        # Its own answers are plain text, and repeat what was sent.
        self.conn.reject = _rejected  # type: ignore[method-assign]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stall.clear()
        self._guard.gone()

    # --- reading --------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """In slices: a block of a quarter of a megabyte may have 40,000 empty frames in it."""
        for begin in range(0, len(data), SLICE):
            if self.transport.is_closing():
                return
            super().data_received(data[begin : begin + SLICE])
        if self.conn.handshake_exc is not None and not self.transport.is_closing():
            # uvicorn asks only for errors behind the handshake, and would keep the connection for ever.
            self.transport.write(_raw_error(400, "Bad Request", NO_HTTP))
            self._close()

    def handle_ping(self, *event: Any) -> None:
        super().handle_ping(*event)
        self._count()

    def handle_pong(self, event: Frame) -> None:
        super().handle_pong(event)
        self._count()

    def handle_cont(self, event: Frame) -> None:
        super().handle_cont(event)
        self._count()

    def handle_text(self, event: Frame) -> None:
        super().handle_text(event)
        if self.close_sent:
            self._count()

    def handle_bytes(self, event: Frame) -> None:
        super().handle_bytes(event)
        if self.close_sent:
            self._count()

    def _count(self) -> None:
        if self._frames.take(1, self.loop.time()) > 0 and not self.transport.is_closing():
            self._guard.refused("frames")
            log.info("a client that sent too many control frames or fragments was disconnected")
            self.conn.fail(POLICY, "too many control frames or fragments")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self._close()

    async def receive(self) -> Any:
        message = await super().receive()
        if not self.writable.is_set():
            # uvicorn reads on when the app has taken a message; whoever takes nothing is not read.
            self.transport.pause_reading()
        return message

    # --- writing --------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self.transport.pause_reading()
        # The app's own limit comes first, and counts it.
        self._stall.begin(self._guard.limits.stall + 1)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.transport.is_closing():
            return
        self._stall.clear()
        if not self.read_paused:
            self.transport.resume_reading()

    # --- the end --------------------------------------------------------------------------------------------------

    async def run_asgi(self) -> None:
        await super().run_asgi()
        if not self.disconnected:
            self._abort_in(self.close_timeout + 1)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._abort_in(CLOSE_SECONDS)

    def _close(self) -> None:
        self.close_sent = True
        self.transport.close()
        self._abort_in(CLOSE_SECONDS)

    def _abort_in(self, seconds: float) -> None:
        self._stall.clear()
        self._stall.begin(seconds)

    def _abort(self) -> None:
        self.transport.abort()


def room_for(connections: int) -> int:
    """How many of these the open files of a process allow; the limit is raised as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    room = soft - SPARE_FILES
    if room < FEWEST_CONNECTIONS:
        raise ResourceError(f"a process may open {soft} files here, expected at least {wanted}: raise it (ulimit -n)")
    log.warning("a process may open %d files: room for %d connections, not %d (ulimit -n)", soft, room, connections)
    return room
