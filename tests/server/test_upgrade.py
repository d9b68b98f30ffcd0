"""A server of this release takes over the sessions of release 0.1: live ones go on, ended ones can be read.

tests/recorded/release-0.1/sessions.sql is the store that a server of that release left when it was stopped in the
middle of a sentence. sessions.json has the events that it wrote itself when it was started again and the rest was said.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers import FakeServer
from tests.server.test_app import events_until, open_socket, receive, send

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[1] / "recorded" / "release-0.1"
KNOWN = json.loads((RECORDED / "sessions.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = tmp_path_factory.mktemp("upgrade")
    with closing(sqlite3.connect(data / "sessions.sqlite")) as db:
        db.executescript((RECORDED / "sessions.sql").read_text(encoding="utf-8"))
        # What nobody has used for a week is deleted; these were recorded long ago.
        db.execute("UPDATE sessions SET touched = ?", (time.time(),))
        db.commit()
    with FakeServer(data) as server:
        yield server
        assert server.faults() == []


def without_clock(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keys that release 0.1 wrote, but for the times of this server's clock."""
    keys = {key for event in KNOWN["events"] for key in event} - {"ms"}
    return [{key: value for key, value in event.items() if key in keys} for event in events]


def test_a_session_that_was_live_goes_on_with_the_words_that_the_old_release_would_have_written(
    upgraded: FakeServer,
) -> None:
    live = KNOWN["live"]
    path = f"/api/sessions/{live['session']}/tickets"
    status, ticket = upgraded.post(path, Authorization=f"Bearer {live['secret']}")
    assert (status, ticket["role"]) == (201, "speaker")
    with open_socket(upgraded) as speaker:
        send(speaker, type="hello", protocol=1, ticket=ticket["ticket"], have=0)
        assert receive(speaker, "hello")["last_input"] == 7
        send(speaker, type="words", seq=8, words=KNOWN["rest"])
        send(speaker, type="end", seq=11)
        events = events_until(speaker, "end")
    assert without_clock(events) == without_clock(KNOWN["events"])


def test_a_session_that_had_ended_can_be_read_and_not_spoken_in(upgraded: FakeServer) -> None:
    assert upgraded.get(f"/api/sessions/{KNOWN['done']}/transcript.txt") == (200, "ka mi\n")
    path = f"/api/sessions/{KNOWN['done']}/tickets"
    assert upgraded.post(path, Authorization=f"Bearer {KNOWN['live']['secret']}")[0] == 403
    with open_socket(upgraded) as viewer:
        send(viewer, type="hello", protocol=1, ticket=upgraded.post(path)[1]["ticket"])
        assert events_until(viewer, "end")[-1]["target_words"] == 2
