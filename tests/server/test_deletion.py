"""A session is deleted by those who may, with all that was said in it, and whoever is connected is told."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.server.servers import FakeServer
from tests.server.test_app import begin, open_socket, receive, send
from turia.server.access import hash_secret
from turia.server.logs import alias

pytestmark = pytest.mark.slow

KEY, OTHER, OPERATOR = "a-key-of-many-letters", "another-key-of-many-letters", "the-operators-own-key"


def delete(server: FakeServer, session: str, token: str | None = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return server.headers(f"/api/sessions/{session}", "DELETE", **headers)[0]


def test_who_may_delete_a_session(tmp_path: Path) -> None:
    keys, operators = tmp_path / "keys", tmp_path / "operators"
    keys.write_text(f"{KEY}\n{OTHER}\n")
    operators.write_text(f"{OPERATOR}\n")
    with FakeServer(tmp_path, key_file=str(keys), operator_key_file=str(operators)) as server:

        def begun(key: str) -> tuple[str, str]:
            _, answer = server.post("/api/sessions", Authorization=f"Bearer {key}")
            return answer["session"], answer["secret"]

        session, secret = begun(KEY)
        assert delete(server, session) == 401
        for stranger in ("wrong", OTHER, begun(OTHER)[1]):
            assert delete(server, session, stranger) == 403
        assert server.status(f"/api/sessions/{session}/transcript.txt") == 200
        assert delete(server, session, secret) == 204
        assert delete(server, session, secret) == 404
        by_key, by_operator = begun(KEY)[0], begun(KEY)[0]
        assert delete(server, by_key, KEY) == 204
        assert delete(server, by_operator, OPERATOR) == 204
        # Each use of a key is told, but not the names of sessions, which are for watching them.
        log = server.log.read_text()
        for owner, name in ((hash_secret(KEY)[:12], by_key), ("operator", by_operator)):
            assert f'key used key={owner} request="DELETE /api/sessions/{alias(name)}"' in log
        assert not any(name in log for name in (session, by_key, by_operator))
        assert server.post("/api/sessions", Authorization=f"Bearer {OPERATOR}")[0] == 401, "it is for deleting only"


def test_on_this_machine_alone_everybody_may_delete_and_the_words_are_gone_from_the_disk(tmp_path: Path) -> None:
    word = "geheimnisvoll"
    with FakeServer(tmp_path) as server, begin(server) as (begun, socket):
        send(socket, type="words", seq=1, words=[word] * 20)
        receive(socket, "ack")
        _, answer = server.post(f"/api/sessions/{begun['session']}/tickets")
        with open_socket(server) as viewer:
            send(viewer, type="hello", protocol=1, ticket=answer["ticket"])
            receive(viewer, "events")
            assert word.encode() in b"".join(file.read_bytes() for file in tmp_path.glob("sessions.sqlite*"))
            assert delete(server, begun["session"]) == 204
            for connection in (socket, viewer):
                refusal = receive(connection, "error")
                assert (refusal["code"], refusal["retry"]) == ("deleted", False)
        assert word.encode() not in b"".join(file.read_bytes() for file in tmp_path.glob("sessions.sqlite*"))
        assert server.post(f"/api/sessions/{begun['session']}/tickets")[0] == 404
        with sqlite3.connect(tmp_path / "sessions.sqlite") as database:
            assert database.execute("SELECT count(*) FROM events").fetchone() == (0,)
        assert server.faults() == []


def test_a_damaged_session_is_deleted_by_those_whose_it_is(tmp_path: Path) -> None:
    keys, operators = tmp_path / "keys", tmp_path / "operators"
    keys.write_text(f"{KEY}\n{OTHER}\n")
    operators.write_text(f"{OPERATOR}\n")
    options = {"key_file": str(keys), "operator_key_file": str(operators), "models": ("de-en", "de-fr")}
    with FakeServer(tmp_path, **options) as server:
        asked = {"also": ["de-fr"]}
        begun = [server.post("/api/sessions", asked, Authorization=f"Bearer {KEY}")[1] for _ in range(6)]
        server.kill(signal.SIGTERM)
        with closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as database, database:
            for one, change in zip(
                begun,
                (
                    "state = 'none'",
                    # As of earlier releases, without a checksum.
                    "state = 'none', state_sum = NULL",
                    "began = 1.5",
                    # Of these two, nobody can tell any more whose they are.
                    "owner = 'none', secret_hash = CAST(x'ff' AS TEXT)",
                    "id = 'none'",
                    "events = events",
                ),
                strict=True,
            ):
                assert database.execute(f"UPDATE sessions SET {change} WHERE id = ?", (one["session"],)).rowcount == 1
        server.start()
        tokens = [begun[0]["secret"], KEY, KEY, OPERATOR, OPERATOR, KEY]
        for place, (one, token) in enumerate(zip(begun, tokens, strict=True)):
            session = one["session"]
            lost = token == OPERATOR
            assert delete(server, session) == 401
            assert [delete(server, session, stranger) for stranger in (OTHER, "wrong")] == [500 if lost else 403] * 2, (
                place
            )
            assert not lost or delete(server, session, KEY) == 500
            assert server.status(f"/api/sessions/{session}.fr/transcript.txt") == 200
            assert delete(server, session, token) == 204, place
            for name in (session, f"{session}.fr"):
                assert server.status(f"/api/sessions/{name}/transcript.txt") == 404
        assert server.faults() == []
    with closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as database:
        assert database.execute("SELECT id FROM sessions").fetchall() == [("none",)]
        assert database.execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_a_session_of_texts_is_deleted_by_the_secret_in_its_name(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        asked = {"q": "ka le.", "source": "de", "target": "en"}
        _, answer = server.post("/translate", asked | {"session": True})
        name, _, secret = answer["session"].partition(".")
        assert delete(server, name, secret) == 204
        status, answer = server.post("/translate", asked | {"session": answer["session"]})
        assert (status, answer["error"]) == (404, 'no such session; begin one with "session": true')


@pytest.mark.parametrize("seconds", [60.0])
def test_what_is_older_than_the_retention_is_deleted_when_the_server_begins(tmp_path: Path, seconds: float) -> None:
    with FakeServer(tmp_path, limits={"keep": seconds}) as server:
        _, begun = server.post("/api/sessions")
        server.kill()
        with sqlite3.connect(tmp_path / "sessions.sqlite") as database:
            database.execute("UPDATE sessions SET touched = touched - ?", (seconds + 1,))
        server.start()
        path = f"/api/sessions/{begun['session']}/transcript.txt"
        while server.status(path) != 404:
            assert server.status(path) in (200, 404)
        log = server.log.read_text()
    assert "old sessions deleted count=1" in log
    assert json.dumps(begun["session"]) not in log
