"""What holds for every route, those of tomorrow among them: HEAD beside GET, one shape of errors, a silent log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute, Mount, Route

from tests.server.fakes import fake_translators
from turia.server.access import Keys
from turia.server.app import Access, make_app
from turia.server.limits import Limits
from turia.server.rooms import parse_room
from turia.server.stores.sqlite import SqliteStore

KEY, WRONG, SAID = "the-key-of-this-server", "geheimer-schluessel-von-woanders", "geheimnis"
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
ROOM_PAGES = ("/room/{name}", "/room/{name}/overlay")
"""Pages that are shown where there is no such room, too: they wait for it."""


class Server:
    """The application with a session and a room in it, asked without a network."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        begun = client.post("/api/sessions", json={"room": "hall"}, headers=self.bearer(KEY))
        assert begun.status_code == 201
        self.session: str = begun.json()["session"]
        self.secret: str = begun.json()["secret"]

    def bearer(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def ask(self, method: str, path: str, key: str | None = None, **more: Any) -> Any:
        """The answer, as the client of tests gives it."""
        headers = more.pop("headers", {}) | ({} if key is None else self.bearer(key))
        return self.client.request(method, path, headers=headers, follow_redirects=False, **more)

    def routes(self) -> list[str]:
        """The paths of all routes, as they are written in the code."""
        found = [path_of(route) for route in self.client.app.routes]  # type: ignore[attr-defined]
        return list(dict.fromkeys(path for path in found if path is not None))

    def get_routes(self) -> list[str]:
        routes: list[BaseRoute] = self.client.app.routes  # type: ignore[attr-defined]
        plain = [route for route in routes if isinstance(route, Route)]
        return [route.path for route in plain if "GET" in (route.methods or ())]


def path_of(route: BaseRoute) -> str | None:
    """None for a socket."""
    if isinstance(route, Mount):
        return f"{route.path}/{{file}}"
    return route.path if isinstance(route, Route) else None


def filled(path: str, session: str, room: str, kind: str, file: str = "app.css") -> str:
    if "/qr." in path:
        kind = "svg" if kind == "txt" else kind
    for name, value in {"session_id": session, "name": room, "kind": kind, "file": file}.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, "a route with a parameter that this test does not know"
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    store: Path = tmp_path_factory.mktemp("routes") / "sessions.sqlite"
    app = make_app(
        fake_translators(), SqliteStore(store), Limits(), Access(Keys([KEY])), rooms=[parse_room("hall=Main hall")]
    )
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield Server(client)


def test_the_walk_meets_all_kinds_of_routes(server: Server) -> None:
    assert {"/", "/metrics", "/translate", "/operate/{session_id}", "/static/{file}"} <= set(server.routes())
    assert {"/room/{name}/qr.{kind}", "/api/rooms/{name}/session", "/replay"} <= set(server.routes())


@pytest.mark.slow
def test_head_is_answered_as_get_is_on_every_route(server: Server) -> None:
    assert len(server.get_routes()) > 15
    for route in [*server.get_routes(), "/static/{file}"]:
        path = filled(route, server.session, "hall", "txt")
        got, head = (server.ask(method, path, KEY) for method in ("GET", "HEAD"))
        assert (got.status_code, head.status_code) == (200, 200), path
        assert head.headers["content-type"] == got.headers["content-type"], path
        assert "content-security-policy" in head.headers, path
        assert head.content == b"", path


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, WRONG, KEY])
def test_every_error_of_every_route_has_one_shape_and_nothing_that_was_sent(
    server: Server, key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "turia")
    bodies = [b"", b"{", b'["%b"]' % SAID.encode(), b'{"q": "%b", "title": 7, "type": "%b"}' % ((SAID.encode(),) * 2)]
    errors = 0
    for route in server.routes():
        for method in METHODS:
            path = filled(route, "no-such-session", "no-such-room", SAID, "none.js")
            for body in bodies if method in ("POST", "PUT") else [b""]:
                asked = {"side": SAID, "size": SAID, "clock": SAID}
                kind = {"Content-Type": "application/json"}
                answer = server.ask(method, path, key, content=body, headers=kind, params=asked)
                if answer.status_code < 400 or (method == "GET" and route in ROOM_PAGES):
                    continue
                errors += 1
                told = answer.json()
                assert list(told)[:3] == ["detail", "code", "error"], (method, path, answer.text)
                assert told["detail"] == told["error"] != "", path
                assert answer.status_code != 500, (method, path, body)
                assert not any(secret in answer.text for secret in (SAID, WRONG, KEY)), (method, path, answer.text)
    assert errors > 50
    logged = caplog.text
    assert not any(secret in logged for secret in (SAID, WRONG, KEY, server.session, server.secret))


def test_a_server_that_is_not_ready_says_so_in_the_same_shape(server: Server) -> None:
    manager = server.client.app.state.manager  # type: ignore[attr-defined]
    manager.ready = False
    try:
        answers = [server.ask("GET", path) for path in ("/readyz", "/health")]
    finally:
        manager.ready = True
    for answer in answers:
        assert (answer.status_code, answer.json()["code"], answer.json()["status"]) == (503, "not-ready", "not ready")
        assert list(answer.json())[:3] == ["detail", "code", "error"]
