"""A viewer in a room: sessions come and go, the viewer stays."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.server.servers import FakeServer
from tests.server.test_app import begin, events_until, receive, send
from tests.server.test_room_routes import ask, hall  # noqa: F401 (a fixture)
from turia.server.room_socket import chosen

pytestmark = pytest.mark.slow


@contextmanager
def enter(server: FakeServer, room: str, **hello: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}/socket/rooms/{room}", compression=None) as socket:
        send(socket, type="hello", protocol=1, **hello)
        yield socket


def written(events: list[dict[str, Any]]) -> list[str]:
    return [event["word"] for event in events if event["type"] == "write"]


def test_a_viewer_stays_from_one_session_to_the_next(hall: FakeServer) -> None:  # noqa: F811
    ask(hall, "PUT", "/api/rooms/stay", {"title": "Stay"})
    with enter(hall, "stay") as viewer:
        assert receive(viewer, "room") == {"type": "room", "name": "stay", "title": "Stay", "languages": []}
        with begin(hall, room="stay") as (begun, speaker):
            state = receive(viewer, "room")
            assert (state["session"], state["language"]) == (begun["session"], "en")
            assert receive(viewer, "hello")["session"] == begun["session"]
            send(speaker, type="words", seq=1, words=["ka", "le."])
            assert written(events_until(viewer, "sentence")) == ["ka", "le"]
            send(speaker, type="end", seq=3)
            events_until(viewer, "end")
        # The session is over, and the viewer is still there.
        send(viewer, type="ping")
        receive(viewer, "pong")
        with begin(hall, room="stay") as (begun, speaker):
            assert receive(viewer, "room")["session"] == begun["session"]
            send(speaker, type="words", seq=1, words=["mi."])
            assert written(events_until(viewer, "sentence")) == ["mi"]
        # A session that is deleted leaves the room as it was before.
        assert ask(hall, "DELETE", f"/api/sessions/{begun['session']}")[0] == 204
        while "session" in receive(viewer, "room"):
            pass
        ask(hall, "DELETE", "/api/rooms/stay")
        assert receive(viewer, "error")["code"] == "room"
        with pytest.raises(ConnectionClosed):
            viewer.recv(timeout=30)


def test_a_damaged_session_leaves_its_room_to_the_next(tmp_path: Path) -> None:
    with FakeServer(tmp_path, rooms=["lab", "main-hall"]) as server:
        with begin(server, room="lab"):
            pass
        server.kill(signal.SIGTERM)
        with closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as database, database:
            assert database.execute("UPDATE sessions SET state = 'none'").rowcount == 1
        server.start()
        assert [(room["name"], room["state"], room["session"]) for room in ask(server, "GET", "/api/rooms")[1]] == [
            ("lab", "waiting", None),
            ("main-hall", "waiting", None),
        ]
        with enter(server, "lab") as viewer:
            assert "session" not in receive(viewer, "room")
            status, begun = server.post("/api/sessions", {"room": "lab"})
            assert status == 201
            assert receive(viewer, "room")["session"] == begun["session"]
        assert server.faults() == []


def test_a_viewer_goes_on_behind_what_it_has(hall: FakeServer) -> None:  # noqa: F811
    ask(hall, "PUT", "/api/rooms/back", {})
    with begin(hall, room="back") as (begun, speaker):
        send(speaker, type="words", seq=1, words=["ka", "le."])
        receive(speaker, "ack")
        with enter(hall, "back") as viewer:
            events = events_until(viewer, "sentence")
        with enter(hall, "back", session=begun["session"], have=len(events) - 1) as viewer:
            assert receive(viewer, "events")["seq"] == len(events)
        with enter(hall, "back", session="of-yesterday", have=3) as viewer:
            assert receive(viewer, "events")["seq"] == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"type": "hello", "protocol": 2}, "protocol"),
        ({"type": "hello", "protocol": 1, "languages": "en"}, "message"),
        ({"type": "words", "seq": 1, "words": ["ka"]}, "message"),
        ({"type": "ping"}, "hello"),
    ],
)
def test_what_a_viewer_may_not_say_is_refused(hall: FakeServer, message: dict[str, Any], code: str) -> None:  # noqa: F811
    with connect(f"ws://127.0.0.1:{hall.port}/socket/rooms/lab", compression=None) as viewer:
        viewer.send(json.dumps(message))
        assert receive(viewer, "error")["code"] == code


def test_a_room_that_is_not_there_says_so(hall: FakeServer) -> None:  # noqa: F811
    with enter(hall, "no-such") as viewer:
        assert receive(viewer, "error")["code"] == "room"
    with enter(hall, "lab") as viewer:
        receive(viewer, "room")
        send(viewer, type="hello", protocol=1)
        assert receive(viewer, "error")["code"] == "hello"


def test_the_language_is_the_first_that_is_wanted() -> None:
    targets = [("en", "a"), ("fr", "b"), ("pt-BR", "c")]
    assert chosen(targets, ["fr-CA", "en"]) == ("fr", "b")
    assert chosen(targets, ["pt", "en"]) == ("pt-BR", "c")
    assert chosen(targets, ["xx"]) == chosen(targets, []) == ("en", "a")
    assert chosen([], ["en"]) == (None, None)


def test_a_viewer_who_asks_is_told_when_the_speaker_goes_and_comes(hall: FakeServer) -> None:  # noqa: F811
    ask(hall, "PUT", "/api/rooms/presence", {"title": "Presence"})
    with enter(hall, "presence", presence=True) as viewer:
        with begin(hall, room="presence") as (_, speaker):
            while not receive(viewer, "presence")["speaker"]:
                pass
            send(speaker, type="words", seq=1, words=["ka", "le."])
            events_until(viewer, "sentence")
        assert receive(viewer, "presence") == {"type": "presence", "speaker": False}
    ask(hall, "DELETE", "/api/rooms/presence")


@pytest.mark.parametrize("large", ["hello", "ping"])
def test_what_a_viewer_says_is_short(hall: FakeServer, large: str) -> None:  # noqa: F811
    """Nobody needs a ticket here: 64 KB at a time, five hundred times, anybody could keep the server reading."""
    ask(hall, "PUT", "/api/rooms/short", {"title": "Short"})
    more = {"later": ["a" * 100] * 40}
    with enter(hall, "short", **(more if large == "hello" else {})) as viewer:
        if large == "ping":
            send(viewer, type="ping")
            receive(viewer, "pong")
            send(viewer, type="ping", **more)
        assert receive(viewer, "error")["code"] == "size"
        with pytest.raises(ConnectionClosed):
            viewer.recv(timeout=30)
