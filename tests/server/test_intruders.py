"""Viewers who try to speak, old tickets, revoked keys, and secrets where other users of the machine could see them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers import FakeServer
from tests.server.test_app import begin, events_until, open_socket, receive, send

pytestmark = pytest.mark.slow

GONE, STAYS = "the-key-that-will-be-revoked", "the-key-that-stays-with-us"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with FakeServer(tmp_path_factory.mktemp("intruders")) as started:
        yield started
        assert started.faults() == []


@pytest.mark.parametrize(
    "message",
    [
        {"type": "words", "seq": 3, "words": ["no"]},
        {"type": "partial", "after": 2, "words": ["no"]},
        {"type": "settings", "seq": 3, "k": 9},
        {"type": "pause", "seq": 3},
        {"type": "end", "seq": 3},
    ],
    ids=lambda message: str(message["type"]),
)
def test_a_viewer_can_say_change_and_end_nothing(server: FakeServer, message: dict[str, Any]) -> None:
    with begin(server, k=1) as (begun, speaker), open_socket(server) as viewer:
        send(speaker, type="words", seq=1, words=["ka", "le."])
        _, ticket = server.post(f"/api/sessions/{begun['session']}/tickets")
        send(viewer, type="hello", protocol=1, ticket=ticket["ticket"])
        receive(viewer, "hello")
        send(viewer, **message)
        refusal = receive(viewer, "error")
        assert (refusal["code"], refusal["retry"]) == ("role", False)
        # The speaker goes on as if nobody had tried.
        send(speaker, type="words", seq=3, words=["mi."])
        send(speaker, type="end", seq=4)
        events = events_until(speaker, "end")
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le", "mi"]
    assert [event["k"] for event in events if event["type"] == "settings"] == [1]


def test_a_session_cannot_be_taken_over_without_its_secret(server: FakeServer) -> None:
    _, other = server.post("/api/sessions")
    with begin(server) as (begun, speaker):
        path = f"/api/sessions/{begun['session']}/tickets"
        for secret in (other["secret"], begun["session"], begun["ticket"], begun["secret"][:-1], "x"):
            assert server.post(path, Authorization=f"Bearer {secret}")[0] == 403
        # A ticket is used once: not that of the speaker again, and not one of a viewer for two.
        granted = server.post(path)[1]["ticket"]
        with open_socket(server) as first:
            send(first, type="hello", protocol=1, ticket=granted)
            assert receive(first, "hello")["role"] == "viewer"
        for used in (begun["ticket"], granted):
            with open_socket(server) as again:
                send(again, type="hello", protocol=1, ticket=used)
                assert receive(again, "error")["code"] == "ticket"
        send(speaker, type="words", seq=1, words=["ka"])
        assert receive(speaker, "ack")["seq"] == 1


@pytest.mark.slow
def test_a_key_that_is_revoked_while_its_session_runs(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{GONE}\n{STAYS}\n")
    with FakeServer(tmp_path, key_file=str(keys)) as server, open_socket(server) as gone, open_socket(server) as stays:
        begun = {}
        for key, socket in ((GONE, gone), (STAYS, stays)):
            _, begun[key] = server.post("/api/sessions", Authorization=f"Bearer {key}")
            send(socket, type="hello", protocol=1, ticket=begun[key]["ticket"])
            receive(socket, "hello")
            send(socket, type="words", seq=1, words=["ka", "le."])
            receive(socket, "ack")
        os.replace(_written(tmp_path / "new", f"{STAYS}\n"), keys)
        # Within some seconds, and without a restart.
        refusal = receive(gone, "error")
        assert (refusal["code"], refusal["retry"]) == ("key", False)
        path = f"/api/sessions/{begun[GONE]['session']}/tickets"
        assert server.post(path, Authorization=f"Bearer {begun[GONE]['secret']}")[0] == 403
        assert server.post("/api/sessions", Authorization=f"Bearer {GONE}")[0] == 401
        line, steer = {"type": "insert", "before": 0, "text": "ka"}, f"/api/sessions/{begun[GONE]['session']}/steer"
        assert server.post(steer, line, Authorization=f"Bearer {begun[GONE]['secret']}")[0] == 403
        # Who watches keeps what was said; the other key goes on.
        assert server.post(path)[0] == 201
        send(stays, type="words", seq=3, words=["mi."])
        assert receive(stays, "ack")["seq"] >= 2
        log, process = server.log.read_text(), server._process
        assert process is not None
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    for key in (GONE, STAYS):
        alias = hashlib.sha256(key.encode()).hexdigest()[:12]
        uses = [line for line in log.splitlines() if "key used" in line and alias in line]
        assert len(uses) == 1, "a line for each use"
    assert "keys changed" in log
    secrets = [GONE, STAYS, *(one[part] for one in begun.values() for part in ("secret", "ticket"))]
    assert not any(secret in text for secret in secrets for text in (log, command))


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
