"""Rooms over HTTP: the list, a room, its session, its pages, and QR codes of its address (docs/rest.md).

Whoever may begin sessions may make rooms and put sessions into them; everybody may watch. A room that a key made is
that key's and the operator's.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from turia.errors import InputError
from turia.protocol.values import MAX_BYTES, Name
from turia.schema import JsonObject, from_dict, read_json
from turia.server.access import bearer
from turia.server.addresses import Addresses, reaches_others
from turia.server.answers import error_answer
from turia.server.codes import Codes
from turia.server.downloads import TooManyError
from turia.server.fanout import targets_of
from turia.server.keyring import note_use
from turia.server.pages import Pages, page_text, security_policy
from turia.server.rooms import InUseError, Permit, Rooms, Title, checked_room
from turia.server.sessions import SessionManager
from turia.server.stores.base import StoredRoom

NO_ROOM = "there is no room of this name"
IN_USE = "in-use"


class RoomLanguage(BaseModel):
    language: str
    session: str


class RoomInfo(BaseModel):
    name: str
    title: str
    state: str = Field(description="waiting: nobody has begun; live; ended: the last session is over.")
    session: str | None = Field(description="The session that runs in it, or ran last.")
    languages: list[RoomLanguage] = Field(description="What it is translated into, and the session of each language.")
    url: str = Field(description="The page of the audience, as others reach it.")
    reaches_others: bool = Field(description="Whether more than this machine can open that address.")


@dataclass(frozen=True)
class RoomChange:
    """The body of the request that makes a room, or gives it another title."""

    title: Title | None = None


@dataclass(frozen=True)
class Placing:
    """The body of the request that puts a session into a room."""

    session: Name
    take_room: bool = False


def rooms_of(request: Request) -> Rooms:
    rooms: Rooms = request.app.state.rooms
    return rooms


def room_url(request: Request, name: str) -> str:
    addresses: Addresses = request.app.state.addresses
    return f"{addresses.base(request)}/room/{name}"


def asking(request: Request) -> str:
    """Whose key the request shows."""
    access, shown = request.app.state.access, bearer(request.headers.get("authorization"))
    owner: str | None = access.keys.owner(shown)
    if access.operators and access.operators.owner(shown) is not None:
        owner = ""
    if owner is None:
        request.app.state.manager.metrics.refused("key")
        raise HTTPException(401, "an API key is needed: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    note_use(owner or "operator", f"{request.method} {request.url.path}")
    return owner


def known_room(request: Request, name: str) -> StoredRoom:
    room = rooms_of(request).get(name)
    if room is None:
        raise HTTPException(404, NO_ROOM)
    return room


def usable_by(owner: str) -> Permit:
    """For rooms that sessions of this owner may be put into. Operators have no owner's name."""

    def permit(room: StoredRoom | None) -> None:
        if room is None:
            raise HTTPException(404, NO_ROOM)
        if owner and room.owner not in ("", owner):
            raise HTTPException(403, "this room was made with another key")

    return permit


def changeable_by(request: Request, owner: str) -> Permit:
    """For rooms that this owner may rename or delete: those of the command line are the operator's."""

    def permit(room: StoredRoom | None) -> None:
        usable_by(owner)(room)
        if owner and room is not None and not room.owner and request.app.state.access.keys:
            raise HTTPException(403, "this room is the operator's; an operator's key changes it")

    return permit


async def described(request: Request, room: StoredRoom) -> RoomInfo:
    manager: SessionManager = request.app.state.manager
    session = await rooms_of(request).session_of(room)
    url = room_url(request, room.name)
    state = "waiting" if session is None else "ended" if session.progress.ended else "live"
    languages = [] if session is None else targets_of(manager, session)
    return RoomInfo(
        name=room.name,
        title=room.title,
        state=state,
        session=None if session is None else session.id,
        languages=[RoomLanguage(language=language, session=name) for language, name in languages],
        url=url,
        reaches_others=reaches_others(url),
    )


def add_rooms(app: FastAPI, pages: Pages) -> None:
    app.add_exception_handler(InUseError, _in_use)
    _add_api(app)
    _add_room_pages(app, pages)


async def _in_use(_: Request, error: Exception) -> Response:
    return error_answer(409, str(error), IN_USE)


def _add_api(app: FastAPI) -> None:
    @app.get("/api/rooms", summary="All rooms; with a key where keys are asked for", responses={401: {}})
    async def rooms(request: Request) -> list[RoomInfo]:
        asking(request)
        return [await described(request, room) for room in rooms_of(request).all()]

    @app.get("/api/rooms/{name}", summary="A room, and what runs in it", responses={404: {}})
    async def one(request: Request, name: str) -> RoomInfo:
        return await described(request, known_room(request, name))

    @app.put("/api/rooms/{name}", summary="Make a room, or give it another title", responses={401: {}, 403: {}})
    async def put(request: Request, name: str) -> RoomInfo:
        owner = asking(request)
        change = from_dict(RoomChange, await _body(request), pass_over=True)
        title = change.title or name.replace("-", " ").capitalize()
        changeable = changeable_by(request, owner)

        def permit(room: StoredRoom | None) -> None:
            """Everybody who has a key may make a room."""
            if room is not None:
                changeable(room)

        await rooms_of(request).put(checked_room(name, title), owner, permit)
        return await described(request, known_room(request, name))

    @app.delete(
        "/api/rooms/{name}",
        status_code=204,
        response_class=Response,
        response_model=None,
        summary="Delete a room, not its session",
    )
    async def delete(request: Request, name: str) -> None:
        await rooms_of(request).delete(name, changeable_by(request, asking(request)))

    @app.put("/api/rooms/{name}/session", summary="Put a session into a room", responses={403: {}, 404: {}, 409: {}})
    async def place(request: Request, name: str) -> RoomInfo:
        owner = asking(request)
        placing = from_dict(Placing, await _body(request), pass_over=True)
        session = await request.app.state.manager.find(placing.session)
        if session is None:
            raise HTTPException(404, "no such session")
        if owner and session.owner != owner:
            raise HTTPException(403, "this session was begun with another key")

        async def found() -> tuple[str, None]:
            return session.id, None

        await rooms_of(request).place(name, placing.take_room, found, usable_by(owner), there=session.id)
        return await described(request, known_room(request, name))

    @app.delete(
        "/api/rooms/{name}/session",
        status_code=204,
        response_class=Response,
        response_model=None,
        summary="Empty a room: not begun yet",
    )
    async def empty(request: Request, name: str) -> None:
        owner = asking(request)

        async def nothing() -> tuple[None, None]:
            return None, None

        await rooms_of(request).place(name, True, nothing, usable_by(owner))


def _add_room_pages(app: FastAPI, pages: Pages) -> None:
    audience, overlay = (page_text(name, pages) for name in ("room.html", "overlay.html"))
    embedded = {"Content-Security-Policy": security_policy(pages.frame_ancestors)}

    def page(request: Request, name: str, text: str, suffix: str = "") -> Response:
        if name != name.lower():
            # Phones begin what is typed with a capital letter.
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"/room/{name.lower()}{suffix}{query}", 307)
        # The page of a room that does not exist yet waits for it.
        status = 200 if rooms_of(request).get(name) is not None else 404
        return HTMLResponse(text, status, headers=embedded)

    @app.get("/room/{name}", include_in_schema=False)
    async def room_page(request: Request, name: str) -> Response:
        return page(request, name, audience)

    @app.get("/room/{name}/overlay", include_in_schema=False)
    async def room_overlay(request: Request, name: str) -> Response:
        return page(request, name, overlay, "/overlay")

    @app.get("/room/{name}/qr.{kind}", summary="The address of a room as a QR code: svg or png", responses={404: {}})
    async def qr(request: Request, name: str, kind: str, size: int = 10) -> Response:
        if rooms_of(request).get(name) is None or kind not in ("svg", "png"):
            raise HTTPException(404, NO_ROOM if kind in ("svg", "png") else "there are qr.svg and qr.png")
        if not 1 <= size <= 40:
            raise InputError(f"size is {size}, expected the pixels of a square, from 1 to 40")
        media = "image/svg+xml" if kind == "svg" else "image/png"
        codes: Codes = request.app.state.codes
        try:
            return Response(await codes.get(room_url(request, name), kind, size), media_type=media)
        except TooManyError:
            manager: SessionManager = request.app.state.manager
            manager.metrics.refused("codes")
            raise HTTPException(503, "many codes are being made; try again", manager.limits.retry_header()) from None


async def _body(request: Request) -> JsonObject:
    """A JSON object, or nothing at all."""
    data = await request.body()
    if len(data) > MAX_BYTES:
        raise InputError(f"expected at most {MAX_BYTES} bytes")
    return read_json(data) if data else {}
