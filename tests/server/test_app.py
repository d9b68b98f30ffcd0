"""The server over HTTP and its socket: who is let in, what is answered, what is refused."""

from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.formats.cues import parse
from tests.protocol.test_client_messages import near_messages
from tests.server.servers import FakeServer

pytestmark = pytest.mark.slow

KEY = "a-key-of-many-letters"


def open_socket(server: FakeServer, **headers: str) -> AbstractContextManager[ClientConnection]:
    return connect(f"ws://127.0.0.1:{server.port}/socket", compression=None, additional_headers=headers)


def send(socket: ClientConnection, **message: Any) -> None:
    socket.send(json.dumps(message))


def receive(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next message of this type."""
    while (message := json.loads(socket.recv(timeout=30)))["type"] != kind:
        pass
    found: dict[str, Any] = message
    return found


@contextmanager
def begin(server: FakeServer, **chosen: Any) -> Iterator[tuple[dict[str, Any], ClientConnection]]:
    """A session and its speaker's socket, welcomed."""
    status, begun = server.post("/api/sessions", chosen)
    assert status == 201
    with open_socket(server) as socket:
        send(socket, type="hello", protocol=1, ticket=begun["ticket"])
        assert receive(socket, "hello")["last_input"] == 0
        yield begun, socket


def events_until(socket: ClientConnection, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] != kind:
        events += receive(socket, "events")["events"]
    return events


def test_words_are_acknowledged_and_translated(server: FakeServer) -> None:
    with begin(server, k=2) as (_, socket):
        send(socket, type="words", seq=1, words=["ka", "le", "mi."])
        events = events_until(socket, "sentence")
        assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le", "mi"]
        assert receive(socket, "ack")["seq"] == 3
        send(socket, type="ping")
        receive(socket, "pong")
        send(socket, type="end", seq=4)
        assert events_until(socket, "end")[-1]["target_words"] == 3
        assert receive(socket, "ack")["seq"] == 4
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000


def test_what_came_before_is_ignored_and_a_gap_refused(server: FakeServer) -> None:
    with begin(server) as (_, socket):
        send(socket, type="words", seq=1, words=["ka", "le"])
        send(socket, type="words", seq=1, words=["ka", "le", "mi"])
        while receive(socket, "ack")["seq"] < 3:
            pass
        send(socket, type="words", seq=5, words=["no"])
        refusal = receive(socket, "error")
        assert (refusal["code"], refusal["retry"]) == ("gap", True)


def test_what_follows_the_end_is_refused_and_the_end_stands(tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    with FakeServer(tmp_path, hold=str(hold)) as server:
        with begin(server, k=2) as (begun, socket):
            # The end needs the model, so it is not dealt with before the last message is there.
            hold.touch()
            send(socket, type="words", seq=1, words=["ka", "le"])
            send(socket, type="end", seq=3)
            send(socket, type="words", seq=4, words=["mi"])
            assert receive(socket, "error")["code"] == "ended"
            hold.unlink()
        path = f"/api/sessions/{begun['session']}/tickets"
        _, ticket = server.post(path, Authorization=f"Bearer {begun['secret']}")
        with open_socket(server) as again:
            send(again, type="hello", protocol=1, ticket=ticket["ticket"])
            assert receive(again, "hello")["last_input"] == 3
            assert [event["word"] for event in events_until(again, "end") if event["type"] == "write"] == ["ka", "le"]
        assert server.faults() == []


def test_a_viewer_sees_everything_and_says_nothing(server: FakeServer) -> None:
    with begin(server, k=1) as (begun, socket):
        send(socket, type="words", seq=1, words=["ka", "le."])
        mine = events_until(socket, "sentence")
        _, ticket = server.post(f"/api/sessions/{begun['session']}/tickets")
        assert ticket["role"] == "viewer"
        with open_socket(server) as viewer:
            send(viewer, type="hello", protocol=1, ticket=ticket["ticket"])
            assert receive(viewer, "hello")["role"] == "viewer"
            assert events_until(viewer, "sentence") == mine
            send(viewer, type="words", seq=3, words=["mi"])
            assert receive(viewer, "error")["code"] == "role"


def test_the_newest_connection_of_a_speaker_has_the_word(server: FakeServer) -> None:
    with begin(server) as (begun, old):
        path = f"/api/sessions/{begun['session']}/tickets"
        _, ticket = server.post(path, Authorization=f"Bearer {begun['secret']}")
        with open_socket(server) as new:
            send(new, type="hello", protocol=1, ticket=ticket["ticket"])
            receive(new, "hello")
            assert receive(old, "error")["code"] == "replaced"
            send(new, type="words", seq=1, words=["ka"])
            assert receive(new, "ack")["seq"] == 1


def test_a_ticket_is_used_once(server: FakeServer) -> None:
    with begin(server) as (begun, _), open_socket(server) as second:
        send(second, type="hello", protocol=1, ticket=begun["ticket"])
        refusal = receive(second, "error")
        # Whoever slept between the two asks for another.
        assert (refusal["code"], refusal["retry"]) == ("ticket", True)


def test_a_client_of_another_protocol_need_not_come_back(server: FakeServer) -> None:
    with open_socket(server) as socket:
        send(socket, type="hello", protocol=2, ticket="x")
        refusal = receive(socket, "error")
        assert (refusal["code"], refusal["retry"]) == ("protocol", False)


def test_secrets_and_names_must_be_right(server: FakeServer) -> None:
    with begin(server) as (begun, _):
        pass
    path = f"/api/sessions/{begun['session']}/tickets"
    assert server.post(path, Authorization="Bearer wrong")[0] == 403
    assert server.post("/api/sessions/nobody/tickets")[0] == 404
    assert server.get("/api/sessions/nobody/transcript.txt")[0] == 404


@pytest.mark.parametrize(
    "chosen", [{}, {"model": "en-de"}, {"model": None, "k": 100, "punctuation": True}, {"later": "releases"}]
)
def test_what_can_be_chosen(server: FakeServer, chosen: dict[str, Any]) -> None:
    assert server.post("/api/sessions", chosen)[0] == 201


@pytest.mark.parametrize(
    ("chosen", "detail"),
    [
        ({"model": "xx-yy"}, "no such model; this server has de-en, en-de"),
        ({"model": 7}, "model is 7, expected a string of 1 to 200 letters"),
        ({"k": 0}, "k is 0, expected a whole number from 1 to 100"),
        ({"k": 101}, "k is 101, expected a whole number from 1 to 100"),
        ({"k": True}, "k is True, expected a whole number from 1 to 100"),
        ({"k": "4"}, "k is a string, expected a whole number from 1 to 100"),
        ({"k": 4.0}, "k is 4.0, expected a whole number from 1 to 100"),
        ({"k": float("nan")}, "not JSON: NaN is not a JSON number"),
        ({"punctuation": 1}, "punctuation is 1, expected true or false"),
        ({"punctuation": "secret"}, "punctuation is a string, expected true or false"),
    ],
)
def test_what_cannot_be_chosen_is_named_and_texts_are_not_repeated(
    server: FakeServer, chosen: dict[str, Any], detail: str
) -> None:
    assert server.post("/api/sessions", chosen) == (422, {"detail": detail, "code": "request", "error": detail})


def test_a_choice_is_json(server: FakeServer) -> None:
    status, answer = server.post("/api/sessions", {}, **{"Content-Type": "text/plain"})
    assert (status, answer["detail"]) == (422, "expected a JSON object, with Content-Type: application/json")


@pytest.mark.parametrize("k", ["true", '"4"', "4.0", "0"])
def test_a_change_is_as_strict_as_a_choice(server: FakeServer, k: str) -> None:
    with begin(server) as (_, socket):
        socket.send(f'{{"type":"settings","seq":1,"k":{k}}}')
        refusal = receive(socket, "error")
        assert refusal["code"] == "message"
        assert refusal["message"].endswith("expected a whole number from 1 to 100")


def test_a_request_that_is_too_large_is_refused(server: FakeServer) -> None:
    assert server.post("/api/sessions", {"model": "x" * 70_000})[0] == 413


def test_a_length_that_is_written_with_many_digits_is_still_a_length(server: FakeServer) -> None:
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.putrequest("POST", "/api/sessions")
    connection.putheader("Content-Length", f"{10**10 - 1:020d}")
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    # Refusals have the headers of all answers.
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    connection.close()


def test_pages_of_other_origins_are_kept_out(server: FakeServer) -> None:
    assert server.post("/api/sessions", Origin="http://evil.example")[0] == 403
    assert server.post("/api/sessions", Origin=server.url)[0] == 201
    assert server.get("/livez", Host="evil.example")[0] == 403
    with pytest.raises(InvalidStatus) as refused, open_socket(server, Origin="http://evil.example"):
        pass
    assert refused.value.response.status_code == 403


def test_pages_of_a_site_that_is_let_in_get_the_headers_that_browsers_want(tmp_path: Path) -> None:
    site = "https://captions.example"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with FakeServer(tmp_path, origins=[site]) as server:
        status, headers = server.headers("/api/sessions", "OPTIONS", Origin=site, **asks)
        assert (status, headers["access-control-allow-origin"]) == (200, site)
        assert {"GET", "POST", "PUT", "DELETE"} == set(headers["access-control-allow-methods"].split(", "))
        assert {"Authorization", "Content-Type"} <= set(headers["access-control-allow-headers"].split(", "))
        assert "access-control-allow-credentials" not in headers
        for method, path, wanted in [("POST", "/api/sessions", 201), ("GET", "/api/info", 200), ("GET", "/none", 404)]:
            status, headers = server.headers(path, method, Origin=site, **{"Content-Type": "application/json"})
            assert (status, headers["access-control-allow-origin"]) == (wanted, site)
            assert headers["access-control-expose-headers"] == "Retry-After"
        with open_socket(server, Origin=site):
            pass
        for origin in ("https://evil.example", "https://captions.example.evil.example", "null"):
            for method, more in (("OPTIONS", asks), ("POST", {}), ("GET", {})):
                status, headers = server.headers("/api/sessions", method, Origin=origin, **more)
                assert status == 403
                assert not [name for name in headers if name.startswith("access-control")]


def test_a_message_that_is_too_large_ends_the_connection(server: FakeServer) -> None:
    with begin(server) as (_, socket):
        socket.send("x" * 70_000)
        with pytest.raises(ConnectionClosed) as closed:
            receive(socket, "error")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=50) | st.text(max_size=50) | near_messages.map(json.dumps), min_size=1, max_size=5))
def test_garbage_harms_nobody(server: FakeServer, garbage: list[str | bytes]) -> None:
    """The fixture looks for unhandled exceptions at its end."""
    with open_socket(server) as socket:
        try:
            for message in garbage:
                socket.send(message.encode("utf-8", "replace") if isinstance(message, str) else message)
            assert receive(socket, "error")["code"] in ("message", "word", "protocol", "hello", "ticket")
        except ConnectionClosed:
            pass


def test_transcripts(server: FakeServer) -> None:
    with begin(server, k=9) as (begun, socket):
        send(socket, type="words", seq=1, words=["ka", "le.", "mi", "-->", "no."])
        send(socket, type="end", seq=6)
        events_until(socket, "end")
    path = f"/api/sessions/{begun['session']}/transcript"
    assert server.get(f"{path}.txt") == (200, "ka le\nmi no\n")
    assert server.get(f"{path}.txt?side=source") == (200, "ka le.\nmi --> no.\n")
    for kind in ("srt", "vtt"):
        status, text = server.get(f"{path}.{kind}")
        assert status == 200
        assert [cue.text for cue in parse(text)] == ["ka le", "mi no"]
    for wrong, detail in [
        (".exe", "kind is a string, expected one of 'txt', 'srt', 'vtt', 'jsonl'"),
        (".txt?side=middle", "side is a string, expected one of 'target', 'source'"),
        (".txt?clock=mine", "clock is a string, expected one of 'server', 'speaker'"),
    ]:
        status, answer = server.get(path + wrong)
        assert (status, json.loads(answer)["detail"]) == (422, detail)


def test_health_metrics_and_description(server: FakeServer) -> None:
    assert server.get("/livez")[0] == 200
    assert server.get("/readyz")[0] == 200
    text = server.get("/metrics")[1]
    for name in ("turia_streams", "turia_source_words_total", "turia_delay_seconds_bucket", "turia_resumes_total"):
        assert name in text
    described = json.loads(server.get("/openapi.json")[1])
    assert {"/api/sessions", "/api/info", "/readyz"} <= described["paths"].keys()
    body = described["paths"]["/api/sessions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "a whole number from 1 to 100" in json.dumps(body["properties"]["k"])
    info = json.loads(server.get("/api/info")[1])
    assert info["models"][0].items() >= {"name": "de-en", "source": "de", "target": "en", "segmenter": True}.items()
    assert info["models"][0]["policy"] == "wait-k:k=4,rounding=floor"
    assert info["needs_key"] is False


@pytest.mark.parametrize("path", ["/", "/watch/x", "/overlay/x"])
def test_pages_have_no_inline_script_or_outside_resource(server: FakeServer, path: str) -> None:
    status, page = server.get(path)
    assert status == 200
    assert "<script>" not in page
    assert "style=" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_past_its_capacity_a_server_refuses_politely(tmp_path: Path) -> None:
    with (
        FakeServer(tmp_path, limits={"streams": 2, "streams_per_key": 2}) as server,
        begin(server) as (_, first),
        begin(server) as (_, second),
    ):
        status, answer = server.post("/api/sessions")
        assert (status, answer["code"]) == (503, "capacity")
        send(first, type="words", seq=1, words=["ka"])
        assert receive(first, "ack")["seq"] == 1
        # The end of one makes room for another.
        send(second, type="end", seq=1)
        receive(second, "ack")
        assert server.post("/api/sessions")[0] == 201


def test_limits_of_a_speaker(tmp_path: Path) -> None:
    """Each on a server of its own: on one with all of them, a speaker who is late for one is refused by another."""
    with FakeServer(tmp_path, limits={"unacknowledged": 5}) as server, begin(server) as (_, socket):
        send(socket, type="words", seq=1, words=["ka"] * 6)
        assert receive(socket, "error")["code"] == "queue"
    with FakeServer(tmp_path, limits={"idle": 0.6, "idle_warning": 0.3}) as server, begin(server) as (_, silent):
        assert receive(silent, "warning")["code"] == "idle"
        refusal = receive(silent, "error")
        assert (refusal["code"], refusal["retry"]) == ("idle", True)
    with FakeServer(tmp_path, limits={"hello": 0.3}) as server, open_socket(server) as mute:
        refusal = receive(mute, "error")
        assert (refusal["code"], refusal["retry"]) == ("hello", True)


def test_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{KEY}\nanother-key-of-many-letters\n")
    with FakeServer(tmp_path, key_file=str(keys), limits={"streams_per_key": 1}) as server:
        assert server.post("/api/sessions")[0] == 401
        assert server.post("/api/sessions", Authorization="Bearer wrong")[0] == 401
        assert server.get("/metrics")[0] == 401
        assert server.post("/api/sessions", Authorization=f"Bearer {KEY}")[0] == 201
        status, answer = server.post("/api/sessions", Authorization=f"Bearer {KEY}")
        assert (status, answer["code"]) == (503, "key-capacity")
        assert server.post("/api/sessions", Authorization="Bearer another-key-of-many-letters")[0] == 201
        assert server.get("/livez", Host="captions.example")[0] == 200


def test_a_stopping_server_says_so_and_exits_with_0(tmp_path: Path) -> None:
    server = FakeServer(tmp_path)
    server.start()
    with begin(server) as (_, socket):
        # Few messages: a client that leaves many unread does not see the goodbye, and the server waits for it.
        send(socket, type="words", seq=1, words=["ka"] * 8)
        receive(socket, "ack")
        assert server.kill(signal.SIGTERM) == 0
        assert receive(socket, "going-away")["retry_after"] > 0
    assert server.faults() == []


def test_a_stopping_server_is_not_ready_and_finishes_what_it_took(tmp_path: Path) -> None:
    hold, words = tmp_path / "hold", ["ka", "le", "mi."] * 10
    with FakeServer(tmp_path, hold=str(hold), limits={"drain": 120}) as server, begin(server, k=2) as (begun, socket):
        hold.touch()
        send(socket, type="words", seq=1, words=words)
        send(socket, type="ping")
        receive(socket, "pong")
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(server.kill, signal.SIGTERM)
            receive(socket, "going-away")
            # The stream is open and none of its words is done: the server lives, and sends others elsewhere.
            assert (server.status("/livez"), server.status("/readyz")) == (200, 503)
            assert server.post("/api/sessions")[0] == 503
            assert server.post(f"/api/sessions/{begun['session']}/tickets")[0] == 201
            with pytest.raises(InvalidStatus), open_socket(server):
                pass
            send(socket, type="words", seq=len(words) + 1, words=["late"])
            assert not stopping.done()
            hold.unlink()
            rest = [json.loads(message) for message in socket]
            assert stopping.result() == 0
        events = [event for message in rest if message["type"] == "events" for event in message["events"]]
        assert [event["word"] for event in events if event["type"] == "source"] == words
        assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le", "mi"] * 10
        assert rest[-1] == {"type": "ack", "seq": len(words)}
        assert socket.close_code == 1001
        assert server.faults() == []


def test_logs_hold_no_text(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        with begin(server) as (_, socket):
            send(socket, type="words", seq=1, words=["geheimnis"])
            receive(socket, "ack")
            send(socket, type="words", seq=9, words=["geheimnis geheimnis"])
            receive(socket, "error")
        assert "geheimnis" not in server.log.read_text()
