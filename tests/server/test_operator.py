"""An operator corrects and steers a session of somebody else: who may, what everybody sees, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers import FakeServer
from tests.server.test_app import begin, open_socket, receive, send

pytestmark = pytest.mark.slow

KEY, OTHER, OPERATOR = "a-key-of-many-letters", "another-key-of-many-letters", "the-operators-own-key"


def steer(server: FakeServer, session: str, token: str | None = None, **message: Any) -> tuple[int, dict[str, Any]]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return server.post(f"/api/sessions/{session}/steer", message, **headers)


def test_who_may_steer_a_session(tmp_path: Path) -> None:
    keys, operators = tmp_path / "keys", tmp_path / "operators"
    keys.write_text(f"{KEY}\n{OTHER}\n")
    operators.write_text(f"{OPERATOR}\n")
    with FakeServer(tmp_path, key_file=str(keys), operator_key_file=str(operators)) as server:
        _, begun = server.post("/api/sessions", Authorization=f"Bearer {KEY}")
        session = begun["session"]
        change: dict[str, Any] = {"type": "settings", "k": 3}
        assert steer(server, session, **change)[0] == 401
        for stranger in ("wrong", OTHER):
            assert steer(server, session, stranger, **change)[0] == 403
        for allowed in (begun["secret"], KEY, OPERATOR):
            assert steer(server, session, allowed, **change)[0] == 202
        assert steer(server, "none", KEY, **change)[0] == 404


def test_everybody_sees_what_the_operator_does_and_a_file_shows_it(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server, begin(server) as (begun, socket):
        session = begun["session"]
        send(socket, type="words", seq=1, words=["ka", "le.", "mi"])
        receive(socket, "ack")
        assert steer(server, session, type="correct", sentence=0, words=2, text="Kalle.")[0] == 202
        assert steer(server, session, type="insert", before=1, text="[Applause]")[0] == 202
        assert steer(server, session, type="settings", glossary="no\tpu", k=1)[0] == 202
        assert steer(server, session, type="pause")[0] == 202
        send(socket, type="words", seq=4, words=["ka", "no."])
        while receive(socket, "ack")["seq"] < 5:
            pass
        # A viewer who comes now, and one who comes after a restart, see the same.
        _, transcript = server.get(f"/api/sessions/{session}/transcript.txt")
        assert transcript == "Kalle.\n[Applause]\nmi\nka pu\n"
        assert steer(server, session, type="end")[0] == 202
        assert receive(socket, "events")
        for message, said in (
            ({"type": "correct", "sentence": 9, "words": 1, "text": "a"}, "there is no sentence 9 yet"),
            ({"type": "settings", "glossary": "a,b,never"}, "glossary, line 1: case is 'never'"),
            ({"type": "dance"}, "type"),
        ):
            status, answer = steer(server, session, **message)
            assert status in (409, 422)
            assert said in answer["detail"] or status == 409
    with FakeServer(tmp_path) as server:
        # The session has ended, and nobody has it in memory: its text can still be corrected.
        assert steer(server, session, type="settings", k=2)[0] == 409
        assert steer(server, session, type="correct", sentence=1, words=1, text="Mi!")[0] == 202
        assert server.get(f"/api/sessions/{session}/transcript.txt")[1] == "Kalle.\n[Applause]\nMi!\nka pu\n"
        _, answer = server.post(f"/api/sessions/{session}/tickets")
        with open_socket(server) as viewer:
            send(viewer, type="hello", protocol=1, ticket=answer["ticket"])
            events: list[dict[str, Any]] = []
            while not any(event.get("text") == "Mi!" for event in events):
                events += receive(viewer, "events")["events"]
        assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le", "mi", "ka", "pu"]
        assert server.faults() == []


def test_what_is_said_in_a_pause_is_nowhere(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server, begin(server) as (begun, socket):
        session = begun["session"]
        send(socket, type="words", seq=1, words=["ka", "le.", "mi"])
        receive(socket, "ack")
        assert steer(server, session, type="mute", muted=True)[0] == 202
        assert steer(server, session, type="mute", muted="yes")[0] == 422
        send(socket, type="words", seq=4, words=["no", "pu."])
        # They are acknowledged, so that no speaker sends them again.
        while receive(socket, "ack")["seq"] < 5:
            pass
        assert steer(server, session, type="mute", muted=False)[0] == 202
        send(socket, type="words", seq=6, words=["ra."])
        while receive(socket, "ack")["seq"] < 6:
            pass
        path = f"/api/sessions/{session}/transcript"
        assert server.get(f"{path}.txt")[1] == "ka le\nmi\nra\n"
        assert server.get(f"{path}.txt?side=source")[1].split() == ["ka", "le.", "mi", "ra."]
        recorded = [json.loads(line) for line in server.get(f"{path}.jsonl")[1].splitlines()]
        assert {event["word"] for event in recorded if "word" in event} == {"ka", "le", "le.", "mi", "ra", "ra."}
        notes = [(event["kind"], event["detail"]) for event in recorded if event["type"] == "note"]
        assert notes == [("muted", "on"), ("muted", "off")]
    with FakeServer(tmp_path) as server:
        assert server.get(f"/api/sessions/{session}/transcript.txt")[1] == "ka le\nmi\nra\n"
        assert server.faults() == []
