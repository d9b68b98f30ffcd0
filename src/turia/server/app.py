"""The HTTP side: pages, sessions, tickets, transcripts, health and metrics; and the way to the socket.

Every answer carries headers that let a page load nothing from elsewhere and run no script that is not a file of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response, WebSocket
from pydantic import BaseModel, Field, TypeAdapter
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect

from turia import __version__
from turia.errors import InputError
from turia.protocol.client_messages import NewSession
from turia.protocol.values import MAX_BYTES, Role
from turia.schema import JsonObject, MismatchError, expectations, from_dict, read_json
from turia.server.access import Keys, bearer, matches, origin_allowed
from turia.server.addresses import LOCAL_ADDRESSES, Addresses
from turia.server.admission import RefusedError
from turia.server.answers import AnswersHead, add_error_answers, error_answer, readiness
from turia.server.audio import Ears, Recognition
from turia.server.capacity import measure_again
from turia.server.choices import Translators
from turia.server.cluster import Cluster, totals
from turia.server.codes import Codes
from turia.server.deletion import add_deletion
from turia.server.downloads import Downloads, GoneError, InPieces, TooManyError
from turia.server.fanout import targets_of
from turia.server.glossaries import watch_glossaries
from turia.server.info import add_info
from turia.server.keyring import KeyFile, note_use
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.operator import add_operator
from turia.server.pages import DEFAULT_PAGES, STATIC, Pages, WholeFiles, add_pages, security_policy
from turia.server.quota import Quota
from turia.server.replay import add_replay
from turia.server.rest import add_rest
from turia.server.room_routes import RoomLanguage, add_rooms, usable_by
from turia.server.room_socket import serve_room
from turia.server.rooms import NewRoom, Rooms
from turia.server.session import ActiveSession
from turia.server.sessions import Preparation, SessionManager
from turia.server.shared import Shared
from turia.server.socket import serve_socket
from turia.server.stores.base import DamagedError, Store, StoreError
from turia.server.stores.sqlite import SqliteStore
from turia.server.transcript import MEDIA_TYPES, TranscriptRequest

HEADERS = {
    "Content-Security-Policy": security_policy(),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # A page that was updated with the server must not run an old script against it.
    "Cache-Control": "no-cache",
}
NO_SESSION = "no such session"


@dataclass(frozen=True)
class Access:
    """Whom the server lets in."""

    keys: Keys
    origins: tuple[str, ...] = ()
    operators: Keys = field(default_factory=Keys)
    """Keys with which any session may be deleted."""
    key_file: Path | None = None
    """Where the keys are from: it is read again when it changes."""


class BegunSession(BaseModel):
    session: str = Field(description="The public name: whoever has it can watch.")
    secret: str = Field(description="For speaking and for reconnecting: send it as a bearer token to get a ticket.")
    ticket: str = Field(description="For the hello of one socket, soon.")
    url: str = Field(description="The page of the audience, as others reach it: the room's, if it has one.")
    languages: list[RoomLanguage] = Field(description="What it is translated into, and the session of each language.")


class Ticket(BaseModel):
    ticket: str
    role: str
    seconds: float


def make_app(
    translators: Translators,
    store: Store,
    limits: Limits,
    access: Access,
    cluster: Cluster | None = None,
    measures: bool = False,
    pages: Pages = DEFAULT_PAGES,
    rooms: Sequence[NewRoom] = (),
    addresses: Addresses = LOCAL_ADDRESSES,
    recognition: Recognition | None = None,
    prepare: Preparation | None = None,
) -> FastAPI:
    """The server's application; the manager of its sessions is `app.state.manager` while it runs.

    `cluster`: others use the store too. `measures`: how many streams are taken follows what the machine holds.
    `pages`: what the operator has chosen for them. `rooms`: those that are to be there. `addresses`: for links.
    `recognition`: the recognisers of this server, if it has some. `prepare`: what is done with the models while pages
    are answered already; the task `app.state.starting` fails if it does.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        manager = app.state.manager = SessionManager(translators, store, limits, Metrics(), cluster)
        app.state.downloads = downloads = Downloads(store)
        app.state.codes = codes = Codes()
        shared = None if cluster is None else Shared(manager, cluster)
        app.state.rooms = Rooms(manager, rooms)
        ears = app.state.ears = Ears(recognition, manager.metrics.registry) if recognition is not None else None
        if ears is not None:
            ears.start()
        app.state.starting = starting = asyncio.create_task(manager.start(prepare))
        if prepare is None:
            await starting
        await app.state.rooms.start()
        tasks = [asyncio.create_task(manager.sweep()), asyncio.create_task(watch_glossaries(translators))]
        if measures:
            tasks.append(asyncio.create_task(measure_again(manager)))
        if access.key_file is not None:
            key_file = KeyFile(access.key_file, access.keys, manager.revoke)
            tasks.append(asyncio.create_task(key_file.watch()))
        if limits.quota and isinstance(store, SqliteStore):
            tasks.append(asyncio.create_task(Quota(limits.quota, store.sizes, manager.hold_to_quota).watch()))
        if shared is not None:
            tasks += [asyncio.create_task(shared.run()), asyncio.create_task(app.state.rooms.follow())]
        yield
        # A thread that loads graphs cannot be stopped.
        await asyncio.wait([starting])
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
        if shared is not None:
            await shared.leave()
        downloads.close()
        codes.close()
        if ears is not None:
            await ears.stop()
        await manager.stop()

    # The documentation pages of FastAPI load scripts from elsewhere; /openapi.json is enough.
    app = FastAPI(title="Turia", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.access, app.state.addresses, app.state.pages = access, addresses, pages
    app.mount("/static", WholeFiles(directory=STATIC), name="static")
    if access.origins:
        # Within the guard: pages of any other origin get no further than that.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=access.origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After"],
        )
    app.middleware("http")(_guard)
    app.add_middleware(AnswersHead)
    add_error_answers(app)
    app.add_exception_handler(RefusedError, _busy)
    app.add_exception_handler(StoreError, _no_store)
    app.add_exception_handler(DamagedError, _damaged)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(InputError, _not_as_expected)
    _add_health(app)
    _add_sessions(app)
    add_deletion(app)
    add_operator(app)
    add_rest(app)
    add_pages(app, pages)
    add_info(app)
    add_replay(app, pages)
    add_rooms(app, pages)
    return app


async def _guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """No page of another origin, nothing large, and the headers of every answer."""
    if _comes_from_elsewhere(request):
        _manager(request).metrics.refused("origin")
        response = error_answer(403, "this origin or host name is not allowed; see --origin", "origin")
    elif request.method in ("POST", "PUT") and not _is_small(request):
        _manager(request).metrics.refused("size")
        response = error_answer(413, f"a request of unknown length, or of more than {MAX_BYTES} bytes", "size")
    else:
        response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _comes_from_elsewhere(connection: Request | WebSocket) -> bool:
    access: Access = connection.app.state.access
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "")
    return not origin_allowed(origin, host, access.origins, bool(access.keys))


def _is_small(request: Request) -> bool:
    if "transfer-encoding" in request.headers:
        return False
    length = request.headers.get("content-length", "0")
    return length.isascii() and length.isdigit() and len(length) <= 10 and int(length) <= MAX_BYTES


async def _busy(request: Request, error: Exception) -> Response:
    """Past capacity: try again later."""
    assert isinstance(error, RefusedError)
    return error_answer(503, str(error), error.code, _manager(request).limits.retry_header())


async def _no_store(request: Request, error: Exception) -> Response:
    """Sessions cannot be begun or found now; those that run wait."""
    manager = _manager(request)
    manager.metrics.refused("store")
    return error_answer(503, str(error), "store", manager.limits.retry_header())


async def _damaged(request: Request, error: Exception) -> Response:
    """Trying again would not help: no Retry-After."""
    _manager(request).metrics.refused("damaged")
    return error_answer(500, str(error), "damaged")


async def _gone(request: Request, _: Exception) -> Response:
    """The client went away before its request was whole: nobody gets this answer."""
    return Response(status_code=400)


async def _not_as_expected(_: Request, error: Exception) -> Response:
    """What is wrong, without repeating a text that was sent."""
    return error_answer(422, error.without_text() if isinstance(error, MismatchError) else str(error))


def _manager(connection: Request | WebSocket) -> SessionManager:
    manager: SessionManager = connection.app.state.manager
    return manager


def _bearer(authorization: Annotated[str | None, Header()] = None) -> str | None:
    return bearer(authorization)


Bearer = Annotated[str | None, Depends(_bearer)]


def _owner(request: Request, key: Bearer) -> str:
    access: Access = request.app.state.access
    owner = access.keys.owner(key)
    if owner is None:
        _manager(request).metrics.refused("key")
        raise HTTPException(401, "an API key is needed: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    note_use(owner, f"{request.method} {request.url.path}")
    return owner


Owner = Annotated[str, Depends(_owner)]


def _add_health(app: FastAPI) -> None:
    @app.get("/livez", summary="The process answers")
    async def live() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", summary="Models are warm and streams are taken", responses={503: {}})
    async def ready(request: Request) -> Response:
        manager = _manager(request)
        answer: dict[str, str | int] = {}
        is_ready = manager.takes_streams
        if manager.cluster is not None:
            together = totals(await asyncio.to_thread(manager.cluster.members))
            is_ready = is_ready and together.members > 0
            answer = {"replicas": together.members, "streams": together.streams, "capacity": together.capacity}
        return readiness(is_ready, "ready", answer)

    @app.get("/metrics", summary="For Prometheus; with a key where keys are asked for")
    async def metrics(request: Request, owner: Owner) -> Response:
        manager = _manager(request)
        text = manager.metrics.text()
        if manager.cluster is not None:
            members = await asyncio.to_thread(manager.cluster.members)
            text = manager.metrics.cluster_text(await asyncio.to_thread(manager.cluster.counted), totals(members))
        return Response(text, media_type="text/plain; version=0.0.4")


def _add_sessions(app: FastAPI) -> None:
    @app.post(
        "/api/sessions",
        status_code=201,
        summary="Begin a session",
        responses={401: {}, 422: {}, 503: {}},
        openapi_extra={"requestBody": _described(NewSession)},
    )
    async def begin(request: Request, owner: Owner) -> BegunSession:
        manager = _manager(request)
        manager.weigh(owner, await request.body())
        chosen = from_dict(NewSession, await _json_body(request), pass_over=True)

        async def begun() -> tuple[str, tuple[str, str]]:
            session_id, secret = await manager.fanout.begin(owner, chosen)
            return session_id, (session_id, secret)

        url: str = request.app.state.addresses.base(request)
        if chosen.room is None:
            _, (session_id, secret) = await begun()
            url = f"{url}/watch/{session_id}"
        else:
            rooms: Rooms = request.app.state.rooms
            session_id, secret = await rooms.place(chosen.room, chosen.take_room, begun, usable_by(owner))
            url = f"{url}/room/{chosen.room}"
        ticket = await manager.issue_ticket(session_id, "speaker")
        session = await _find(request, session_id)
        languages = [RoomLanguage(language=code, session=name) for code, name in targets_of(manager, session)]
        return BegunSession(session=session_id, secret=secret, ticket=ticket, url=url, languages=languages)

    @app.post(
        "/api/sessions/{session_id}/tickets",
        status_code=201,
        summary="A ticket for one socket: with the session's secret to speak, without to watch",
        responses={403: {}, 404: {}},
    )
    async def ticket(request: Request, session_id: str, secret: Bearer) -> Ticket:
        manager, session = _manager(request), await _find(request, session_id)
        if secret is not None and not matches(secret, session.secret_hash):
            manager.metrics.refused("secret")
            raise HTTPException(403, "this is not the secret of the session")
        if secret is not None and not request.app.state.access.keys.knows(session.owner):
            manager.metrics.refused("key")
            raise HTTPException(403, "the key of this session was revoked")
        role: Role = "viewer" if secret is None else "speaker"
        issued = await manager.issue_ticket(session_id, role)
        return Ticket(ticket=issued, role=role, seconds=manager.limits.ticket)

    @app.get("/api/sessions/{session_id}/transcript.{kind}", summary="All that was said so far, as a file")
    async def download(
        request: Request, session_id: str, kind: str, side: str = "target", clock: str = "server"
    ) -> Response:
        asked = from_dict(TranscriptRequest, {"kind": kind, "side": side, "clock": clock})
        manager, at = _manager(request), (await _find(request, session_id)).progress
        downloads: Downloads = request.app.state.downloads
        try:
            data = await downloads.get(session_id, asked, at.events, at.ended)
        except TooManyError:
            manager.metrics.refused("transcripts")
            raise HTTPException(
                503, "many transcripts are being made; try again", manager.limits.retry_header()
            ) from None
        except GoneError:
            raise HTTPException(404, NO_SESSION) from None
        name = f'attachment; filename="{"session" if asked.kind == "jsonl" else f"captions-{asked.side}"}.{asked.kind}"'
        kind_of_text = f"{MEDIA_TYPES[asked.kind]}; charset=utf-8"
        return InPieces(data, media_type=kind_of_text, headers={"Content-Disposition": name})

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await _take(websocket, lambda manager: serve_socket(websocket, manager, _address(websocket), app.state.ears))

    @app.websocket("/socket/rooms/{name}")
    async def room_socket(websocket: WebSocket, name: str) -> None:
        await _take(
            websocket, lambda manager: serve_room(websocket, manager, app.state.rooms, name, _address(websocket))
        )

    @app.websocket("/{path:path}")
    async def no_socket(websocket: WebSocket) -> None:
        await websocket.send_denial_response(error_answer(404, "there is no WebSocket at this address"))


async def _take(websocket: WebSocket, serve: Callable[[SessionManager], Awaitable[None]]) -> None:
    """A connection that becomes a WebSocket, or is told why not."""
    manager = _manager(websocket)
    if _comes_from_elsewhere(websocket):
        manager.metrics.refused("origin")
        await websocket.send_denial_response(error_answer(403, "this origin is not allowed", "origin"))
    elif (
        manager.draining
        or manager.sockets >= manager.limits.sockets
        or not manager.hellos.room_for(_address(websocket))
    ):
        manager.metrics.refused("sockets")
        busy = error_answer(503, "no more connections are taken", "sockets", manager.limits.retry_header())
        await websocket.send_denial_response(busy)
    else:
        manager.sockets += 1
        try:
            await serve(manager)
        finally:
            manager.sockets -= 1


def _address(connection: Request | WebSocket) -> str:
    """Of the client; a proxy on this machine tells it (X-Forwarded-For)."""
    return "" if connection.client is None else connection.client.host


def _described(kind: type[Any]) -> JsonObject:
    """The body that `kind` is read from, for /openapi.json."""
    described = TypeAdapter(kind).json_schema()
    for key, expected in expectations(kind).items():
        described["properties"][key]["description"] = expected
    return {"content": {"application/json": {"schema": described}}, "required": True}


async def _json_body(request: Request) -> JsonObject:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(422, "expected a JSON object, with Content-Type: application/json")
    return read_json(await request.body())


async def _find(request: Request, session_id: str) -> ActiveSession:
    session = await _manager(request).find(session_id)
    if session is None:
        raise HTTPException(404, NO_SESSION)
    return session
