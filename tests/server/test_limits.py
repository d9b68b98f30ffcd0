"""What a server holds its clients to, seen from outside."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.server.servers import FakeServer
from tests.server.test_app import begin, open_socket, receive, send
from turia.errors import InputError
from turia.server.limits import Rates, parse_time, words_for


def headers_of(url: str, data: bytes | None = None) -> Message:
    """Of the answer, whatever its status."""
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.headers  # type: ignore[no-any-return]
    except urllib.error.HTTPError as error:
        with error:
            return error.headers


@pytest.mark.slow
def test_a_refusal_tells_when_to_come_back(tmp_path: Path) -> None:
    with FakeServer(tmp_path, limits={"streams": 1, "retry_after": 7.0}) as server, begin(server):
        answer = headers_of(f"{server.url}/api/sessions", b"{}")
        assert answer["Retry-After"] == "7"


@pytest.mark.slow
def test_connections_are_counted(tmp_path: Path) -> None:
    with FakeServer(tmp_path, limits={"sockets": 1}) as server:
        with begin(server), pytest.raises(InvalidStatus) as refused, open_socket(server):
            pass
        assert refused.value.response.status_code == 503
        assert "Retry-After" in refused.value.response.headers


@pytest.mark.slow
def test_words_and_pings_are_taken_at_a_rate(tmp_path: Path) -> None:
    with FakeServer(tmp_path, limits={"words_per_second": 20.0, "burst": 10.0}) as server:
        with begin(server) as (_, socket):
            began = time.monotonic()
            for first in range(1, 31, 10):
                send(socket, type="words", seq=first, words=["ka"] * 10)
            while receive(socket, "ack")["seq"] < 30:
                pass
            # Ten at once, the next ten too, for the pause comes after them; the last ten half a second later.
            assert time.monotonic() - began >= 0.45
        with begin(server) as (_, socket):
            began = time.monotonic()
            for _ in range(30):
                send(socket, type="ping")
            send(socket, type="words", seq=1, words=["ka"])
            assert receive(socket, "ack")["seq"] == 1
            # Ten at once, the others one after another.
            assert time.monotonic() - began >= 0.95


def test_compression_is_off(server: FakeServer) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket", compression="deflate") as socket:
        assert socket.response is not None
        assert "Sec-WebSocket-Extensions" not in socket.response.headers


@pytest.mark.parametrize("path", ["/", "/watch/x", "/overlay/x", "/static/main.js", "/api/info"])
def test_nothing_of_elsewhere_is_loaded_or_run(server: FakeServer, path: str) -> None:
    headers = headers_of(server.url + path)
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_second_speaker_of_another_session_is_not_harmed_by_garbage(server: FakeServer) -> None:
    with begin(server, k=1) as (_, good), begin(server, k=1) as (_, bad):
        bad.send(json.dumps({"type": "words", "seq": 1, "words": ["no no"]}))
        assert receive(bad, "error")["code"] == "word"
        send(good, type="words", seq=1, words=["ka"])
        assert receive(good, "ack")["seq"] == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60), ("90m", 5400), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)]
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text, "--retention") == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "7D", "-7d", "0d", "59s", "1.5h", "99999999w", "٧d"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match=f"--retention {text}: expected a time from 1m on"):
        parse_time(text, "--retention")


def test_nothing_is_taken_from_an_empty_bucket() -> None:
    rates = Rates(rate=10.0, burst=100.0)
    assert rates.wait("a", 150, now=0.0) == 0.0
    # Asking again and again makes nobody wait longer.
    assert [rates.wait("a", 150, now=0.0) for _ in range(3)] == [5.0] * 3
    assert rates.wait("b", 1, now=0.0) == 0.0
    assert rates.wait("a", 1, now=5.0) == 0.0


def test_names_that_were_not_used_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.limits.MOST_NAMES", 3)
    rates = Rates(rate=1.0, burst=10.0)
    for name, count in (("a", 5), ("b", 500), ("c", 5)):
        rates.wait(name, count, now=0.0)
    rates.wait("d", 1, now=100.0)
    assert rates._buckets.keys() == {"b", "d"}


def table(terms: int) -> str:
    return "".join(f"wort{number}\tsome translation {number}\n" for number in range(terms))


@pytest.mark.slow
def test_tables_of_terms_are_read_at_a_rate(tmp_path: Path) -> None:
    """Nobody else is heard while one is read."""
    with FakeServer(tmp_path, limits={"large": -1e9}) as server:
        for terms in (100, 300):
            status, refusal = server.post("/api/sessions", {"glossary": table(terms)})
            assert (status, refusal["code"]) == (503, "rate")
        assert server.post("/api/sessions", {"glossary": table(5)})[0] == 201
        assert 'turia_refusals_total{code="rate"} 2.0' in server.get("/metrics")[1]


def test_a_message_counts_by_its_words_or_its_bytes() -> None:
    assert words_for(1, '{"type":"words","seq":1,"words":["ka"]}') == 1
    assert words_for(500, b"x" * 9000) == 500
    # A table of terms that is small enough to come at any time: four of them in five seconds.
    assert words_for(1, "x" * 8000) == 125


@pytest.mark.slow
def test_a_large_hello_is_not_read(tmp_path: Path) -> None:
    """Whoever has no ticket could have tables read."""
    with FakeServer(tmp_path) as server:
        with open_socket(server) as socket:
            send(socket, type="settings", seq=1, glossary=table(300))
            assert receive(socket, "error")["code"] == "size"
        _, begun = server.post("/api/sessions")
        ticket = server.post(f"/api/sessions/{begun['session']}/tickets")[1]["ticket"]
        with open_socket(server) as viewer:
            send(viewer, type="hello", protocol=1, ticket=ticket)
            receive(viewer, "hello")
            send(viewer, type="settings", seq=1, glossary=table(300))
            assert receive(viewer, "error")["code"] == "size"


@pytest.mark.slow
def test_changes_by_operators_are_taken_at_a_rate(tmp_path: Path) -> None:
    with FakeServer(tmp_path, limits={"steered": -1e6}) as server, begin(server) as (begun, _):
        path, secret = f"/api/sessions/{begun['session']}/steer", f"Bearer {begun['secret']}"
        status, refusal = server.post(path, {"type": "insert", "before": 0, "text": "x"}, Authorization=secret)
        assert (status, refusal["code"]) == (503, "rate")
