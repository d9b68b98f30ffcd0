"""Rooms over HTTP: who may make them, what they show, and QR codes of their addresses."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.server.fakes import fake_translators
from tests.server.servers import FakeServer
from tests.server.test_app import begin
from turia.policy.waitk import WaitK
from turia.server.access import Keys
from turia.server.app import Access, make_app
from turia.server.choices import StreamChoice
from turia.server.codes import qr_code
from turia.server.limits import Limits
from turia.server.rooms import NewRoom, Rooms
from turia.server.sessions import SessionManager
from turia.server.stores.base import StoredRoom
from turia.server.stores.sqlite import SqliteStore

pytestmark = pytest.mark.slow

KEY, OTHER, OPERATOR = "a-key-of-many-letters", "another-key-of-many-letters", "the-key-of-the-operator"
MODELS = ("de-en", "de-fr", "en-de", "en-fr")


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    """A server with rooms."""
    data = tmp_path_factory.mktemp("rooms")
    with FakeServer(data, rooms=["main-hall=Main hall", "lab"], models=MODELS) as running:
        yield running
        assert running.faults() == []


def ask(
    server: FakeServer, method: str, path: str, body: dict[str, Any] | None = None, key: str | None = None
) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(server.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_room_shows_what_was_begun_in_it(hall: FakeServer) -> None:
    status, room = ask(hall, "GET", "/api/rooms/main-hall")
    assert status == 200
    assert room == {
        "name": "main-hall",
        "title": "Main hall",
        "state": "waiting",
        "session": None,
        "languages": [],
        "url": f"{hall.url}/room/main-hall",
        "reaches_others": False,
    }
    with begin(hall, room="main-hall", also=["de-fr"]) as (begun, socket):
        assert begun["url"] == f"{hall.url}/room/main-hall"
        languages = [{"language": "en", "session": begun["session"]}]
        languages.append({"language": "fr", "session": begun["session"] + ".fr"})
        assert begun["languages"] == languages
        room = ask(hall, "GET", "/api/rooms/main-hall")[1]
        assert (room["state"], room["session"], room["languages"]) == ("live", begun["session"], languages)
        # A wrong name does not end the captions of a talk.
        status, refused = ask(hall, "POST", "/api/sessions", {"room": "main-hall"})
        assert (status, refused["code"]) == (409, "in-use")
        status, taken = ask(hall, "POST", "/api/sessions", {"room": "main-hall", "take_room": True})
        assert status == 201
        assert ask(hall, "GET", "/api/rooms/main-hall")[1]["session"] == taken["session"]
        placed = ask(hall, "PUT", "/api/rooms/main-hall/session", {"session": begun["session"], "take_room": True})
        assert (placed[0], placed[1]["session"]) == (200, begun["session"])
        socket.send(json.dumps({"type": "end", "seq": 1}))
        while ask(hall, "GET", "/api/rooms/main-hall")[1]["state"] != "ended":
            pass
    assert ask(hall, "DELETE", "/api/rooms/main-hall/session") == (204, None)
    assert ask(hall, "GET", "/api/rooms/main-hall")[1]["state"] == "waiting"


def test_a_speaker_who_is_gone_leaves_the_room_free(hall: FakeServer) -> None:
    with begin(hall, room="lab"):
        assert ask(hall, "POST", "/api/sessions", {"room": "lab"})[0] == 409
    while ask(hall, "POST", "/api/sessions", {"room": "lab"})[0] != 201:
        pass


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"room": "no-such"}, 404, "there is no room of this name"),
        ({"room": "Main Hall"}, 422, "room is a string, expected a name of at most 60 small letters"),
        ({"also": ["de-xx"]}, 422, "no such model in also"),
        ({"also": ["en-fr"]}, 422, "expected models of the same source language"),
        ({"also": ["de-en"]}, 422, "expected models of different target languages"),
        ({"also": ["de-fr", "de-fr"]}, 422, "expected different names of models"),
    ],
)
def test_a_session_that_cannot_be_is_refused(hall: FakeServer, body: dict[str, Any], status: int, said: str) -> None:
    found, answer = ask(hall, "POST", "/api/sessions", body)
    assert (found, said in answer["detail"]) == (status, True), answer


def test_rooms_are_made_renamed_and_deleted(hall: FakeServer) -> None:
    assert ask(hall, "PUT", "/api/rooms/room-2")[1]["title"] == "Room 2"
    assert ask(hall, "PUT", "/api/rooms/room-2", {"title": "Saal Zwei"})[1]["title"] == "Saal Zwei"
    assert [room["name"] for room in ask(hall, "GET", "/api/rooms")[1]] == ["lab", "main-hall", "room-2"]
    assert ask(hall, "DELETE", "/api/rooms/room-2") == (204, None)
    assert ask(hall, "DELETE", "/api/rooms/room-2")[0] == 404
    assert ask(hall, "GET", "/api/rooms/room-2")[0] == 404
    for name in ("Room", "a--b", "-a", "x" * 61, "ä"):
        status, answer = ask(hall, "PUT", "/api/rooms/" + quote(name))
        assert (status, "such as main-hall" in answer["detail"]) == (422, True), name
    assert ask(hall, "PUT", "/api/rooms/a", {"title": "a\nb"})[0] == 422
    assert ask(hall, "PUT", "/api/rooms/lab/session", {"session": "no-such"})[0] == 404


def test_the_page_of_a_room_is_there_in_any_spelling(hall: FakeServer) -> None:
    status, text = hall.get("/room/Main-Hall?language=fr")
    assert (status, "/static/room.js" in text) == (200, True)
    assert hall.get("/room/Lab/overlay")[0] == 200
    # Whose page waits until it is made.
    assert hall.get("/room/no-such")[0] == 404


def test_codes_have_the_address_in_them(hall: FakeServer) -> None:
    status, headers = hall.headers("/room/lab/qr.svg")
    assert (status, headers["content-type"]) == (200, "image/svg+xml")
    with urllib.request.urlopen(f"{hall.url}/room/lab/qr.png?size=5") as answer:
        assert answer.headers["content-type"] == "image/png"
        assert answer.read() == qr_code(f"{hall.url}/room/lab", "png", 5)
    assert hall.get("/room/lab/qr.gif")[0] == 404
    assert hall.get("/room/no-such/qr.svg")[0] == 404
    assert hall.get("/room/lab/qr.png?size=0")[0] == 422


def test_a_room_belongs_to_the_key_that_made_it(tmp_path: Path) -> None:
    keys, operators = tmp_path / "keys", tmp_path / "operators"
    keys.write_text(f"{KEY}\n{OTHER}\n")
    operators.write_text(f"{OPERATOR}\n")
    options = {"key_file": str(keys), "operator_key_file": str(operators), "rooms": ["hall"]}
    with FakeServer(tmp_path, **options, public_url="https://captions.example.org") as server:
        assert ask(server, "GET", "/api/rooms")[0] == 401
        assert ask(server, "PUT", "/api/rooms/mine")[0] == 401
        assert ask(server, "PUT", "/api/rooms/mine", key=KEY)[0] == 200
        # Everybody may watch.
        assert ask(server, "GET", "/api/rooms/mine")[1]["url"] == "https://captions.example.org/room/mine"
        assert ask(server, "POST", "/api/sessions", {"room": "mine"}, OTHER)[0] == 403
        assert ask(server, "DELETE", "/api/rooms/mine", key=OTHER)[0] == 403
        status, begun = ask(server, "POST", "/api/sessions", {"room": "mine"}, KEY)
        assert (status, begun["url"]) == (201, "https://captions.example.org/room/mine")
        # Rooms of the command line are for every key, and the operator's to change.
        assert ask(server, "POST", "/api/sessions", {"room": "hall"}, OTHER)[0] == 201
        assert ask(server, "PUT", "/api/rooms/hall", {"title": "x"}, OTHER)[0] == 403
        theirs = {"session": begun["session"], "take_room": True}
        assert ask(server, "PUT", "/api/rooms/hall/session", theirs, OTHER)[0] == 403
        assert ask(server, "DELETE", "/api/rooms/mine", key=OPERATOR)[0] == 204
        assert ask(server, "PUT", "/api/rooms/hall", {"title": "Halle"}, OPERATOR)[1]["title"] == "Halle"
        assert server.faults() == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/rooms/hall", {"title": "Mine"}),
        ("DELETE", "/api/rooms/hall", None),
        ("PUT", "/api/rooms/hall/session", {"session": "SESSION"}),
        ("DELETE", "/api/rooms/hall/session", None),
        ("POST", "/api/sessions", {"room": "hall"}),
    ],
)
@pytest.mark.parametrize("gone", [False, True])
def test_who_may_change_a_room_is_asked_when_its_turn_comes(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None, gone: bool
) -> None:
    """While a change waits for another one, the room may become that of another key, or be deleted."""

    async def run() -> None:
        keys = Keys([KEY, OTHER])
        mine, theirs = keys.owner(KEY), keys.owner(OTHER)
        assert mine is not None
        assert theirs is not None
        store = SqliteStore(tmp_path / "sessions.sqlite")
        app = make_app(fake_translators(), store, Limits(), Access(keys))
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", timeout=None)
        async with app.router.lifespan_context(app), client:
            manager: SessionManager = app.state.manager
            rooms: Rooms = app.state.rooms
            session, _ = await manager.create(mine, StreamChoice("de-en", WaitK(4), punctuation=True))
            await rooms.put(NewRoom("hall", "Hall"), mine)
            await rooms._changing.acquire()
            sent = None if body is None else {**body, **({"session": session} if "session" in body else {})}
            headers = {"Authorization": f"Bearer {KEY}"}
            asked = asyncio.create_task(client.request(method, path, json=sent, headers=headers))
            # The request waits for the lock, or is answered.
            while not asked.done() and not rooms._changing._waiters:
                await asyncio.sleep(0.001)
            other = None if gone else StoredRoom("hall", "Theirs", theirs, "their-session", 7)
            if other is None:
                del rooms._rooms["hall"]
            else:
                rooms._rooms["hall"] = other
            rooms._changing.release()
            answer = await asked
            if gone and (method, path) == ("PUT", "/api/rooms/hall"):
                assert (answer.status_code, rooms.get("hall")) == (200, StoredRoom("hall", "Mine", mine, None, 1))
            else:
                assert (answer.status_code, rooms.get("hall")) == (404 if gone else 403, other)
            assert [one.id for one in manager.sessions()] == [session], "none was begun for nothing"

    asyncio.run(run())
