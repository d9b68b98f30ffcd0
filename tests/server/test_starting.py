"""A server that starts: pages are there before the models are ready, and sessions wait for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.server.fakes import fake_translators
from turia.errors import ModelError
from turia.server import sessions
from turia.server.access import Keys
from turia.server.app import Access, make_app
from turia.server.limits import Limits
from turia.server.serve import ServeOptions, listen, serve
from turia.server.stores.sqlite import SqliteStore


class Loading:
    """What is left to do with the models: it ends when the test says so."""

    def __init__(self, streams: int) -> None:
        self.streams, self.end = streams, threading.Event()

    def __call__(self) -> int:
        assert self.end.wait(30)
        return self.streams


@pytest.fixture
def loading() -> Iterator[Loading]:
    found = Loading(2)
    yield found
    found.end.set()


def app_of(tmp_path: Path, loading: Loading) -> FastAPI:
    store, access = SqliteStore(tmp_path / "sessions.sqlite"), Access(Keys([]))
    return make_app(fake_translators(), store, Limits(), access, prepare=loading)


def client_of(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1")


def test_pages_are_answered_before_the_models_are_ready(tmp_path: Path, loading: Loading) -> None:
    with client_of(app_of(tmp_path, loading)) as client:
        assert client.get("/").status_code == 200
        assert [model["name"] for model in client.get("/api/info").json()["models"]] == ["de-en", "en-de"]
        assert client.get("/livez").status_code == 200
        assert [client.get(path).status_code for path in ("/readyz", "/health")] == [503, 503]
        loading.end.set()
        assert client.post("/api/sessions", json={}).status_code == 201
        assert [client.get(path).status_code for path in ("/readyz", "/health")] == [200, 200]


def test_a_session_waits_for_the_models_and_for_their_capacity(tmp_path: Path, loading: Loading) -> None:
    with client_of(app_of(tmp_path, loading)) as client, ThreadPoolExecutor() as pool:
        asked = [pool.submit(client.post, "/api/sessions", json={}) for _ in range(3)]
        assert client.get("/livez").status_code == 200
        assert not any(answer.done() for answer in asked)
        loading.end.set()
        answers = [answer.result(30) for answer in asked]
        assert sorted(answer.status_code for answer in answers) == [201, 201, 503]
        assert {answer.json()["code"] for answer in answers if answer.status_code == 503} == {"capacity"}


def test_a_session_that_has_waited_long_is_told_to_come_again(
    tmp_path: Path, loading: Loading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "START_SECONDS", 0.01)
    with client_of(app_of(tmp_path, loading)) as client:
        answer = client.post("/api/sessions", json={})
        assert (answer.status_code, answer.json()["code"]) == (503, "not-ready")
        assert int(answer.headers["retry-after"]) > 0
        loading.end.set()


def test_models_that_cannot_be_made_ready_end_the_server_with_their_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise ModelError("decoder-x8.onnx: cannot be loaded")

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    with pytest.raises(ModelError, match=r"decoder-x8\.onnx: cannot be loaded"):
        serve(fake_translators(), ServeOptions("127.0.0.1", port, tmp_path, Limits(), prepare=fail), listening)
    assert f"Turia is at http://127.0.0.1:{port}" in capsys.readouterr().out
