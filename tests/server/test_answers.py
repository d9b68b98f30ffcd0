"""Errors have one shape whatever they come from, and HEAD is answered wherever GET is."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient

from tests.server.servers import FakeServer, answer_to
from turia.server.answers import AnswersHead, add_error_answers, error_answer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("server")) as server:
        yield server


def answer_of(server: FakeServer, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    asked = urllib.request.Request(server.url + path, body, headers, method=method)
    return answer_to(asked)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/none", None, 404, "not-found"),
        ("GET", "/static/none.js", None, 404, "not-found"),
        ("PUT", "/api/sessions", b"{}", 405, "method"),
        ("GET", "/api/sessions/none/transcript.txt", None, 404, "not-found"),
        ("DELETE", "/api/sessions/none", None, 404, "not-found"),
        ("POST", "/api/sessions", b"[]", 422, "request"),
        ("POST", "/api/sessions", b"x" * 70_000, 413, "size"),
        ("POST", "/translate", b"[]", 400, "request"),
        ("POST", "/translate", b"x" * 70_000, 413, "size"),
    ],
)
def test_an_error_has_one_shape(
    server: FakeServer, method: str, path: str, body: bytes | None, status: int, code: str
) -> None:
    got, text = answer_of(server, method, path, body, **{"Content-Type": "application/json"})
    answer = json.loads(text)
    assert (got, answer["code"]) == (status, code)
    assert list(answer) == ["detail", "code", "error"]
    assert answer["detail"] == answer["error"]
    # Clients of release 0.1 tell our errors from a proxy's by how they begin.
    assert text.startswith('{"detail":"')


def test_a_page_of_elsewhere_gets_the_same_shape(server: FakeServer) -> None:
    status, text = answer_of(server, "GET", "/livez", Origin="https://evil.example")
    assert (status, json.loads(text)["code"]) == (403, "origin")


def test_faults_of_our_own_are_told_without_what_they_say() -> None:
    app = FastAPI()
    add_error_answers(app)

    @app.get("/fault")
    async def fault() -> None:
        raise ValueError("geheimnis")

    @app.get("/number")
    async def number(value: int) -> int:
        return value

    @app.get("/busy")
    async def busy() -> None:
        raise HTTPException(503, "later", {"Retry-After": "5"})

    client = TestClient(app, raise_server_exceptions=False)
    answer = client.get("/fault")
    assert (answer.status_code, answer.json()["code"]) == (500, "failed")
    assert "geheimnis" not in answer.text
    answer = client.get("/number", params={"value": "geheimnis"})
    assert (answer.status_code, answer.json()["code"]) == (422, "request")
    assert answer.json()["detail"].startswith("value: ")
    assert "geheimnis" not in answer.text
    answer = client.get("/busy")
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["code"]) == (503, "5", "busy")


def test_a_code_may_be_more_exact_than_the_status() -> None:
    assert json.loads(bytes(error_answer(503, "full", "capacity").body))["code"] == "capacity"


def test_head_is_answered_wherever_get_is(server: FakeServer) -> None:
    described = json.loads(server.get("/openapi.json")[1])
    routes = [path for path, operations in described["paths"].items() if "get" in operations and "{" not in path]
    assert {"/livez", "/readyz", "/metrics", "/api/info", "/languages", "/health"} <= set(routes)
    _, begun = server.post("/api/sessions")
    transcript = f"/api/sessions/{begun['session']}/transcript.txt"
    for path in [*routes, "/", "/watch/x", "/overlay/x", "/static/app.css", "/openapi.json", transcript]:
        status, headers = server.headers(path)
        of_head, same = server.headers(path, "HEAD")
        assert (of_head, same["content-type"]) == (status, headers["content-type"]), path
        assert "content-security-policy" in same
        assert answer_of(server, "HEAD", path)[1] == ""
    assert server.headers("/api/sessions", "HEAD")[0] == 405


def test_head_has_no_body_whoever_serves() -> None:
    app = FastAPI()
    app.add_middleware(AnswersHead)

    @app.get("/words")
    async def words() -> list[str]:
        return ["eins", "zwei"]

    answer = TestClient(app).head("/words")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "15")
