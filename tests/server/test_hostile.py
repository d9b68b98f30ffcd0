"""People who mean harm, disks that fail, and words that must not be in a log: on whole servers."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.raw import connection
from tests.server.servers import FakeServer
from tests.server.test_app import begin, events_until, open_socket, receive, send

pytestmark = pytest.mark.slow

SECRET = "geheimnis"
POST, JSON = "POST", "HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"


def spoken(server: FakeServer, words: int = 3) -> dict[str, Any]:
    """A session that has ended, in which something was said."""
    with begin(server) as (begun, speaker):
        send(speaker, type="words", seq=1, words=[SECRET] * words)
        send(speaker, type="end", seq=words + 1)
        events_until(speaker, "end")
    return begun


def change(data: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(data / "sessions.sqlite")) as db, db:
        assert db.execute(statement, values).rowcount >= 1


def store_deleted(server: FakeServer, data: Path) -> None:
    """Words are not acknowledged any more, and the server is not ready."""
    with begin(server) as (_, speaker):
        send(speaker, type="words", seq=1, words=["ka"])
        assert receive(speaker, "ack")["seq"] == 1
        for file in data.glob("sessions.sqlite*"):
            file.unlink()
        send(speaker, type="words", seq=2, words=["le"])
        refusal = receive(speaker, "error")
    assert (refusal["code"], refusal["retry"]) == ("store", True)
    assert (server.status("/readyz"), server.status("/livez")) == (503, 200)
    assert server.post("/api/sessions")[1]["code"] == "store"


@pytest.mark.slow
def test_damage_is_told_as_such_and_nobody_is_to_try_again(tmp_path: Path) -> None:
    server = FakeServer(tmp_path)
    server.start()
    changed, undecodable, odd = spoken(server), spoken(server), spoken(server)
    with begin(server) as (stateless, speaker):
        send(speaker, type="words", seq=1, words=[SECRET])
        receive(speaker, "ack")
    server.kill(signal.SIGTERM)
    where = "WHERE session = ? AND seq = 3"
    change(tmp_path, f"UPDATE events SET event = replace(event, 'h', 'i') {where}", changed["session"])
    broken = f'{{"type":"source","word":"{SECRET} '.encode() + b'\xff"}'
    change(tmp_path, f"UPDATE events SET event = CAST(? AS TEXT) {where}", broken, undecodable["session"])
    change(tmp_path, f"UPDATE events SET event = ?, sum = NULL {where}", f"not {SECRET}", odd["session"])
    # A state that has no checksum, as of earlier releases, and that no engine has written.
    state = "json_set(state, '$.stream.words', 7)"
    change(tmp_path, f"UPDATE sessions SET state = {state}, state_sum = NULL WHERE id = ?", stateless["session"])
    server.start()
    for begun in (changed, undecodable, odd):
        status, text = server.get(f"/api/sessions/{begun['session']}/transcript.txt")
        assert (status, json.loads(text)["code"]) == (500, "damaged")
        _, ticket = server.post(f"/api/sessions/{begun['session']}/tickets")
        with open_socket(server) as viewer:
            send(viewer, type="hello", protocol=1, ticket=ticket["ticket"])
            refusal = receive(viewer, "error")
        assert (refusal["code"], refusal["retry"]) == ("damaged", False)
    path = f"/api/sessions/{stateless['session']}/tickets"
    _, ticket = server.post(path, Authorization=f"Bearer {stateless['secret']}")
    with open_socket(server) as speaker:
        send(speaker, type="hello", protocol=1, ticket=ticket["ticket"])
        refusal = receive(speaker, "error")
    assert refusal["retry"] is False
    assert "damaged" in refusal["message"]
    # All others go on.
    assert server.get(f"/api/sessions/{spoken(server)['session']}/transcript.txt")[1].split() == [SECRET] * 3
    store_deleted(server, tmp_path)
    server.kill()
    log = server.log.read_text(errors="replace")
    assert SECRET not in log
    assert "Traceback" not in log


@pytest.mark.slow
def test_the_address_is_told_when_the_port_listens_and_long_requests_are_sent_away_at_the_end(tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    server = FakeServer(tmp_path, hold=str(hold), limits={"drain": 120})
    starting = threading.Thread(target=server.start)
    starting.start()
    while not (tmp_path / "sessions.sqlite-wal").exists():
        time.sleep(0.02)
    # The models are not warm.
    assert "Turia is at" not in server.log.read_text()
    with pytest.raises(ConnectionRefusedError):
        connection(server.port)
    hold.unlink()
    while "Turia is at" not in server.log.read_text():
        time.sleep(0.005)
    connection(server.port).close()
    starting.join()
    hold.touch()
    body = json.dumps({"q": "ka le. " * 600, "source": "de", "target": "en"})
    with ThreadPoolExecutor(1) as pool, connection(server.port) as raw:
        raw.sendall(f"{POST} /translate {JSON}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        while "turia_streams 1.0" not in server.get("/metrics")[1]:
            time.sleep(0.02)
        stopping = pool.submit(server.kill, signal.SIGTERM)
        # The model stands still: what is answered does not wait for it.
        answer = raw.recv(4096)
        hold.unlink()
        assert stopping.result() == 0
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 5" in answer
    assert server.faults() == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Any:
    limits = {"streams": 2, "streams_per_key": 2, "arrive": 1.0, "grace": 600.0}
    with FakeServer(tmp_path_factory.mktemp("hostile"), limits=limits) as started:
        yield started
        assert started.faults() == []


def test_uploads_that_are_given_up_are_no_fault(small: FakeServer) -> None:
    for path in ("/translate", "/api/sessions"):
        with connection(small.port) as raw:
            raw.sendall(f"{POST} {path} {JSON}\r\nContent-Length: 100\r\n\r\n{{".encode())
    with connection(small.port) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        raw.sendall(b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
    assert small.status("/livez") == 200
    assert small.faults() == []


def test_sessions_without_a_speaker_hold_their_places_for_a_moment_only(small: FakeServer) -> None:
    begun = [small.post("/api/sessions")[1] for _ in range(2)]
    assert small.post("/api/sessions")[0] == 503
    while (answer := small.post("/api/sessions"))[0] == 503:
        time.sleep(0.05)
    # A speaker who comes has a place, also beside sessions that only wait for theirs.
    for one in (begun[0], answer[1]):
        with open_socket(small) as speaker:
            send(speaker, type="hello", protocol=1, ticket=one["ticket"])
            receive(speaker, "hello")
            send(speaker, type="end", seq=1)
            receive(speaker, "ack")
