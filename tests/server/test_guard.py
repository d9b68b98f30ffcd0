"""What a connection may do before anybody knows whose it is. Real sockets on this machine, with short limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.raw import BEGUN, FRAGMENT, PING, PONG, connection, flood, rest, text_frame, upgraded
from tests.server.servers import FakeServer
from turia.errors import ResourceError
from turia.server.guard import room_for

pytestmark = pytest.mark.slow

SHORT = {"request": 1.0, "hello": 1.0, "stall": 0.5, "sockets": 40, "requests": 0, "strangers": 5}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("guard"), limits=SHORT) as started:
        yield started
        assert started.faults() == []


def refusals(server: FakeServer, code: str) -> float:
    lines = server.get("/metrics")[1].splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(f'turia_refusals_total{{code="{code}"}}'))


def error_in(answer: bytes) -> tuple[int, str]:
    """Status and code of an answer, which must have the shape of all errors."""
    head, _, body = answer.partition(b"\r\n\r\n")
    told = json.loads(body)
    assert list(told) == ["detail", "code", "error"]
    assert f"content-length: {len(body)}".encode() in head.lower()
    return int(head.split()[1]), told["code"]


@pytest.mark.parametrize(
    "begun",
    ["", "GET / HTTP/1.1\r\nHost: 127.0", "POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"],
    ids=["silent", "half a header", "half a body"],
)
def test_a_request_comes_whole_or_is_cut(server: FakeServer, begun: str) -> None:
    before = refusals(server, "slow-request")
    with connection(server.port) as raw:
        raw.sendall(begun.encode())
        assert error_in(rest(raw)) == (408, "slow-request")
    assert refusals(server, "slow-request") == before + 1


def test_the_next_request_of_a_connection_is_held_to_the_same(server: FakeServer) -> None:
    with connection(server.port) as raw:
        raw.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += raw.recv(4096)
        raw.sendall(b"GET /li")
        assert rest(raw).startswith(b"HTTP/1.1 408 ")


def test_what_is_no_http_is_refused_in_the_shape_of_all_errors(server: FakeServer) -> None:
    with connection(server.port) as raw:
        raw.sendall(b"GARBAGE\r\n\r\n")
        assert error_in(rest(raw)) == (400, "request")


def test_half_a_request_behind_a_whole_one_is_held_to_the_same(server: FakeServer) -> None:
    whole = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    half = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
    with connection(server.port) as raw:
        raw.sendall(whole + half)
        assert [answer[:3] for answer in rest(raw).split(b"HTTP/1.1 ")[1:]] == [b"200", b"408"]


@pytest.mark.parametrize(
    "more",
    [
        "Content-Length: 3\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n",
        f"X: {'a' * 9000}\r\n\r\n",
        "X: a\r\n" * 200 + "\r\n",
    ],
    ids=["body", "chunks", "long header", "many headers"],
)
def test_a_websocket_that_cannot_begin_is_refused(server: FakeServer, more: str) -> None:
    with connection(server.port) as raw:
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        raw.sendall(f"GET /socket HTTP/1.1\r\nHost: 127.0.0.1\r\n{upgrade}\r\n{key}\r\n{more}".encode())
        assert error_in(rest(raw)) == (400, "request")


@pytest.mark.parametrize(
    ("method", "key", "version", "more", "told"),
    [
        ("GET", "not-base64", "13", "", (400, "request")),
        ("GET", "dGhlIHNhbXBsZSBub25jZQ==", "8", "", (400, "request")),
        ("GET", "dGhlIHNhbXBsZSBub25jZQ==", "13", "Sec-WebSocket-Protocol: ;\r\n", (400, "request")),
        ("POST", "dGhlIHNhbXBsZSBub25jZQ==", "13", "", (405, "method")),
    ],
    ids=["key", "version", "subprotocol", "method"],
)
def test_a_handshake_that_is_none_is_refused_without_its_text(
    server: FakeServer, method: str, key: str, version: str, more: str, told: tuple[int, str]
) -> None:
    with connection(server.port) as raw:
        upgrade = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: {version}"
        head = f"{method} /socket HTTP/1.1\r\nHost: 127.0.0.1\r\n{upgrade}\r\nSec-WebSocket-Key: {key}\r\n{more}\r\n"
        raw.sendall(head.encode())
        answer = rest(raw)
    assert error_in(answer) == told
    assert key.encode() not in answer


def test_a_websocket_elsewhere_is_refused_in_the_shape_of_all_errors(server: FakeServer) -> None:
    with connection(server.port) as raw:
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        raw.sendall(f"GET /elsewhere HTTP/1.1\r\nHost: 127.0.0.1\r\n{upgrade}\r\n{key}\r\n\r\n".encode())
        assert error_in(rest(raw)) == (404, "not-found")


@pytest.mark.parametrize(("first", "frame"), [(b"", PING), (b"", PONG), (BEGUN, FRAGMENT)])
def test_too_many_control_frames_and_fragments_end_a_connection(server: FakeServer, first: bytes, frame: bytes) -> None:
    before = refusals(server, "frames")
    with upgraded(server.port) as raw:
        raw.sendall(first)
        sent, closed = flood(raw, frame, seconds=30)
        assert closed is not None
    assert sent >= 200
    assert refusals(server, "frames") == before + 1


def test_a_few_control_frames_and_fragments_harm_nobody(server: FakeServer) -> None:
    _, begun = server.post("/api/sessions")
    hello = json.dumps({"type": "hello", "protocol": 1, "ticket": begun["ticket"]})
    with upgraded(server.port) as raw:
        # The hello in two fragments, and a ping between them.
        head, tail = text_frame(hello[:20]), text_frame(hello[20:])
        raw.sendall(bytes([head[0] & 0x7F]) + head[1:] + PING * 20 + PONG * 20 + bytes([0x80]) + tail[1:])
        answer = b""
        while b'"type":"events"' not in answer:
            answer += raw.recv(4096)
    assert answer.startswith(b"\x8a\0" * 20)
    assert b'"type":"hello"' in answer


@pytest.mark.slow
def test_the_time_for_a_hello_ends_whatever_is_sent(server: FakeServer) -> None:
    with upgraded(server.port) as raw:
        raw.sendall(BEGUN + FRAGMENT * 10)
        answer = rest(raw)
    assert b"no hello came in time" in answer


def test_few_sockets_of_an_address_wait_for_their_hello(server: FakeServer) -> None:
    waiting = [upgraded(server.port) for _ in range(5)]
    with pytest.raises(AssertionError, match="503"):
        upgraded(server.port)
    for raw in waiting:
        raw.close()
    # Said in time, a hello makes room for the next.
    for _ in range(6):
        _, begun = server.post("/api/sessions")
        raw = upgraded(server.port)
        raw.sendall(text_frame(json.dumps({"type": "hello", "protocol": 1, "ticket": begun["ticket"]})))
        assert raw.recv(2)
        waiting.append(raw)
    for raw in waiting:
        raw.close()


@pytest.mark.slow
def test_one_connection_too_many_takes_the_place_of_the_one_that_waits_longest(tmp_path: Path) -> None:
    limits = SHORT | {"request": 3600.0, "sockets": 20, "requests": 20}
    with FakeServer(tmp_path, limits=limits) as server:
        silent = [connection(server.port) for _ in range(45)]
        assert server.status("/livez") == 200
        assert [rest(raw, 5) for raw in silent[:5]] == [b""] * 5
        silent[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert rest(silent[-1]).startswith(b"HTTP/1.1 200")
        for raw in silent:
            raw.close()
        assert server.faults() == []


@pytest.mark.slow
def test_who_asks_and_takes_no_answer_is_cut(server: FakeServer) -> None:
    with connection(server.port) as raw:
        asked = b"GET /static/app.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        _, closed = flood(raw, asked, seconds=30, reads=False)
        assert closed is not None


@pytest.mark.parametrize(
    ("soft", "hard", "room", "raised"),
    [(256, 1024, 400, 500), (256, -1, 400, 500), (-1, -1, 400, None), (4096, 4096, 400, None), (256, 300, 200, 300)],
)
def test_the_limit_of_open_files_is_raised_or_kept_to(
    soft: int, hard: int, room: int, raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("resource.getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr("resource.setrlimit", lambda _, both: asked.append(both))
    assert room_for(400) == room
    assert asked == ([] if raised is None else [(raised, hard)])


def test_too_few_open_files_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (120, 120))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    with pytest.raises(ResourceError, match="may open 120 files here, expected at least 500"):
        room_for(400)
