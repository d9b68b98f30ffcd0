"""`turia serve`: the address, the keys, the files, and an orderly end.

SIGTERM or Ctrl-C: not ready, going-away to everybody, what was taken is finished and stored, exit 0. A second one
does not wait.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from turia import __version__
from turia.errors import InputError, ResourceError
from turia.protocol.values import MAX_BYTES
from turia.server.access import Keys, is_loopback
from turia.server.addresses import Addresses
from turia.server.addresses import url_of as url_of
from turia.server.app import Access, make_app
from turia.server.audio import Recognition
from turia.server.choices import Translators
from turia.server.cluster import Cluster
from turia.server.guard import Connections, GuardedConfig, room_for
from turia.server.keyring import read_keys as read_keys
from turia.server.limits import Limits
from turia.server.logs import Sparingly
from turia.server.pages import DEFAULT_PAGES, Pages
from turia.server.rooms import NewRoom
from turia.server.sessions import Preparation
from turia.server.stores.base import Store
from turia.server.stores.sqlite import SqliteStore
from turia.server.tracebacks import LoopErrors

SEND_BUFFER = 64 * 1024
"""Bytes that the kernel keeps for a reader that takes nothing."""
PING_SECONDS = 20.0
ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(\[(?P<ipv6>[0-9a-f:]+)\]|(?P<name>[a-z0-9_.-]{1,253}))(:(?P<port>[1-9][0-9]{0,4}))?"
)
USUAL_PORTS = {"http": "80", "https": "443"}
NO_PAGES = ("ws", "wss", "ftp", "file")
"""Schemes of no page that browsers name as an origin."""
log = logging.getLogger("turia.server")


@dataclass(frozen=True)
class ServeOptions:
    """The options of `turia serve`."""

    host: str
    port: int
    data: Path
    limits: Limits
    key_file: Path | None = None
    origins: tuple[str, ...] = ()
    store: str | None = None
    """A Redis that other servers use too, in place of a file in `data`."""
    operator_key_file: Path | None = None
    """Keys with which any session may be deleted."""
    measures: bool = False
    """Whether `limits.streams` was measured, and is to be measured again."""
    pages: Pages = DEFAULT_PAGES
    rooms: tuple[NewRoom, ...] = ()
    """Rooms that are to be there, besides those of the store."""
    public_url: str | None = None
    """What comes before the path in links for others, such as a proxy's address."""
    recognition: Recognition | None = None
    """Recognisers of speech, if there are some."""
    prepare: Preparation | None = None
    """What is left to do with the models when pages are answered already."""


def data_folder() -> Path:
    """Where sessions are kept by default."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "turia"


def checked_access(
    host: str, key_file: Path | None, origins: Sequence[str], operator_key_file: Path | None = None
) -> Access:
    """Who is let in: holders of a key, or only this machine; and pages of these origins."""
    keys = read_keys(key_file)
    refuse_strangers(host, bool(keys), "or use 127.0.0.1")
    check_origins(origins)
    return Access(Keys(keys), tuple(origins), Keys(read_keys(operator_key_file)), key_file)


def refuse_strangers(host: str, keyed: bool, otherwise: str) -> None:
    """An address that others reach needs keys."""
    if not keyed and not is_loopback(host):
        raise InputError(f"{host} can be reached by others: give --key-file with API keys, {otherwise}")


def check_origins(origins: Sequence[str]) -> None:
    """That they are what browsers send, to the letter: another spelling would let nobody in."""
    for origin in origins:
        if not is_origin(origin):
            shown = origin if origin.isprintable() else repr(origin)
            raise InputError(
                f"origin {shown}: expected what browsers send: https://host, with a port if it is not the usual one"
            )


def is_origin(text: str) -> bool:
    """Whether a browser may send this as an origin: names in small letters and ASCII, addresses in their short form."""
    found = ORIGIN.fullmatch(text)
    if found is None or found["scheme"] in NO_PAGES:
        return False
    if found["port"] and (int(found["port"]) > 65535 or found["port"] == USUAL_PORTS.get(found["scheme"])):
        return False
    try:
        if found["ipv6"]:
            return str(ipaddress.IPv6Address(found["ipv6"])) == found["ipv6"]
        if found["scheme"] not in USUAL_PORTS:
            # Of an extension or an app: whatever its maker calls it.
            return True
        labels = found["name"].removesuffix(".").split(".")
        if re.fullmatch("[0-9]+|0x[0-9a-f]*", labels[-1]):
            # Browsers take such a name for an address.
            return str(ipaddress.IPv4Address(found["name"])) == found["name"]
        return all(labels)
    except ValueError:
        return False


def serve(translators: Translators, options: ServeOptions, listening: socket.socket | None = None) -> None:
    """Serves until a signal stops it, on the socket that `listen` gave, if it was called before."""
    access = checked_access(options.host, options.key_file, options.origins, options.operator_key_file)
    listening = listening or listen(options.host, options.port)
    store, cluster = open_store(options)
    addresses = Addresses(options.host, listening.getsockname()[1], options.public_url)
    app = make_app(
        translators,
        store,
        options.limits,
        access,
        cluster,
        options.measures,
        options.pages,
        options.rooms,
        addresses,
        options.recognition,
        options.prepare,
    )
    limits = options.limits
    most = room_for(limits.sockets + limits.requests)
    config = GuardedConfig(
        app,
        Connections(limits, most, lambda code: app.state.manager.metrics.refused(code)),
        ws_max_size=MAX_BYTES,
        # Compression costs each connection hundreds of kilobytes.
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=2 * PING_SECONDS,
        timeout_graceful_shutdown=2,
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
    )
    logging.getLogger("uvicorn.error").addFilter(News())
    log.info("starting", extra={"version": __version__, "store": "file" if options.store is None else "redis"})
    greeting = greeting_of(addresses, options.rooms)
    server = _Server(config, app, greeting)
    server.run(sockets=[listening])
    if server.failure is not None:
        raise server.failure


def greeting_of(addresses: Addresses, rooms: Sequence[NewRoom]) -> str:
    """What the operator is told when the port listens."""
    own, public = url_of(addresses.host, addresses.port), addresses.base()
    lines = [f"Turia is at {own}  (Ctrl-C ends it)"]
    if public != own:
        lines.append(f"Others reach it at {public}")
    return "\n".join([*lines, *(f"Room {room.name}: {public}/room/{room.name}" for room in rooms)])


def open_store(options: ServeOptions) -> tuple[Store, Cluster | None]:
    """The sessions, and the other servers that have them too."""
    if options.store is None:
        return SqliteStore(options.data / "sessions.sqlite", ticket_seconds=options.limits.ticket), None
    # A plain install has no redis.
    from turia.server.stores.redis import RedisStore
    from turia.server.stores.redis_cluster import RedisCluster

    store = RedisStore(options.store, keep=options.limits.keep, ticket_seconds=options.limits.ticket)
    return store, RedisCluster(store.client)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"{host}: not an address of this machine: {error.strerror}") from error
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError(f"{host}: not an address of this machine; choose another --host") from error
        raise ResourceError(f"{url_of(host, port)}: cannot listen: {error.strerror}; choose another --port") from error
    return listening


class News:
    """Which lines of uvicorn's are written: none that say nothing, and a few a minute of those that anybody can cause,
    such as requests that are no HTTP and errors that nobody foresaw, with 5 KB of traceback each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._sparingly, self._clock = Sparingly(), clock

    def __call__(self, record: logging.LogRecord) -> bool:
        # uvicorn takes a handshake that we refused, as we may, for one that we forgot; and a client's bytes that are no
        # UTF-8, whose connection it closes as it should, for an error of ours.
        text = record.getMessage()
        if any(known in text for known in ("ing handshake", "Invalid UTF-8 sequence received from client")):
            return False
        error = record.exc_info[0] if record.exc_info else None
        left_out = self._sparingly.left_out(f"{record.msg!s:.60} {error}", self._clock())
        if left_out:
            record.left_out = left_out
        return left_out is not None


class _Server(uvicorn.Server):
    """uvicorn, except that it drains before it stops, and then exits with 0."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, greeting: str) -> None:
        super().__init__(config)
        self._app, self._greeting = app, greeting
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining = False
        self.failure: BaseException | None = None
        """Why the models could not be made ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(LoopErrors())
        await super().startup(sockets)
        # Now the port listens, and not before.
        print(self._greeting, flush=True)
        self._app.state.starting.add_done_callback(self._prepared)

    def _prepared(self, starting: asyncio.Task[None]) -> None:
        self.failure = starting.exception()
        self.should_exit = self.should_exit or self.failure is not None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal. uvicorn's own would be raised again at the end and make the exit code another than 0."""
        if self._draining or self._loop is None or not self.started:
            self.should_exit = True
            return
        self._draining = True
        asyncio.run_coroutine_threadsafe(self._drain(), self._loop)

    async def _drain(self) -> None:
        await self._app.state.manager.drain()
        self.should_exit = True
