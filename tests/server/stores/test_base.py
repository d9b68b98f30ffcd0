"""What a store promises, whichever it is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.redises import RedisServer
from tests.server.servers import ENVIRONMENT
from turia.server.progress import Progress
from turia.server.stores.base import (
    SessionOwner,
    SessionStatus,
    SessionUpdate,
    Store,
    StoredRoom,
    StoredSession,
    StoreError,
    read_events,
)
from turia.server.stores.redis import RedisStore
from turia.server.stores.sqlite import SqliteStore

A, B, C = ({"type": name} for name in "abc")
STORED = StoredSession("id", "owner", "hash", 10.25, 10.5, Progress(0, 1), "{}")
STEP = SessionUpdate("id", 1, Progress(0, 1), Progress(2, 3), (B, C), '{"x":"ü"}', 20.0)
JOURNAL = 200
Opens = Callable[[], Store]


@pytest.fixture(params=["sqlite", "redis"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    """Opens the store of this test, again and again."""
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "new" / "sessions.sqlite")
    server: RedisServer = request.getfixturevalue("redis_server")
    server.clear()
    return lambda: RedisStore(server.url, journal=JOURNAL, patience=60.0, answer_seconds=60.0)


@pytest.fixture
def store(opens: Opens) -> Iterator[Store]:
    opened = opens()
    yield opened
    opened.close()


def test_what_is_created_is_found(store: Store) -> None:
    store.create(STORED, [A])
    assert store.load("id") == STORED
    assert store.events("id", 0, 10) == (1, [A])
    assert store.load("other") is None
    assert store.claim("other", 1) is None
    assert store.next_turn("other") == 0
    assert store.events("other", 0, 10)[1] == []


def test_what_is_deleted_is_gone_whole_and_stays_gone(store: Store) -> None:
    store.create(STORED, [A])
    store.create(replace(STORED, id="other"), [A])
    assert store.delete("id")
    assert not store.delete("id")
    assert store.load("id") is None
    assert store.events("id", 0, 10)[1] == []
    assert store.advance([STEP]) == [False], "what was on its way does not bring it back"
    assert store.load("id") is None
    assert store.events("other", 0, 10) == (1, [A])


def test_whose_a_session_is_and_what_follows_it(store: Store) -> None:
    names = ["id", "id.en", "id.fr-x-k8", "idx", "id-.en", "i", "id/", "*"]
    for name in names:
        store.create(replace(STORED, id=name), [A])
    assert store.whose("id.en") == SessionOwner("owner", "hash")
    assert store.whose("other") is None
    assert store.followers("id") == ["id.en", "id.fr-x-k8"]
    assert [store.followers(name) for name in ("id.en", "i", "*", "other")] == [[], [], [], []]


def test_rooms_are_kept_until_they_are_deleted(opens: Opens) -> None:
    store = opens()
    hall, lab = StoredRoom("hall", "Säle", "owner", "id", 3), StoredRoom("lab", "Lab")
    for room in (lab, StoredRoom("hall", "old"), hall):
        store.put_room(room)
    store.close()
    store = opens()
    assert store.rooms() == [hall, lab]
    assert store.delete_room("hall")
    assert not store.delete_room("hall")
    assert store.rooms() == [lab]
    store.close()


def test_an_advance_moves_everything_together(store: Store) -> None:
    store.create(STORED, [A])
    assert store.advance([STEP]) == [True]
    assert store.load("id") == replace(STORED, progress=Progress(2, 3), state='{"x":"ü"}', touched=20.0)
    assert store.events("id", 1, 1) == (2, [B])
    assert store.events("id", 1, 10) == (2, [B, C])
    assert store.advance([]) == []


def test_an_advance_whose_answer_was_lost_is_taken_once(store: Store) -> None:
    store.create(STORED, [A])
    assert store.advance([STEP]) == [True]
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    silent = SessionUpdate("id", 1, Progress(2, 3), Progress(3, 3, ended=True), (), "{}", 21.0)
    assert store.advance([silent, silent]) == [True, True]
    stored = store.load("id")
    assert stored is not None
    assert stored.progress == Progress(3, 3, ended=True)


def test_an_advance_from_elsewhere_is_not_taken_and_harms_no_other(store: Store) -> None:
    store.create(STORED, [A])
    store.create(replace(STORED, id="other"), [A])
    stale = replace(STEP, before=Progress(1, 1))
    taken = store.advance([stale, replace(STEP, session_id="other"), replace(STEP, session_id="nobody")])
    assert taken == [False, True, False]
    assert store.load("id") == STORED
    assert store.events("id", 0, 10) == (1, [A])
    assert store.events("other", 0, 10) == (1, [A, B, C])


def test_the_newest_turn_owns_the_session(store: Store) -> None:
    store.create(STORED, [A])
    assert [store.next_turn("id") for _ in range(2)] == [2, 3]
    assert store.load("id") == STORED, "a turn that is only given takes nothing from anybody"
    assert store.claim("id", 2) == replace(STORED, token=2)
    assert store.claim("id", 3) == replace(STORED, token=3)
    # One whose answer was lost, and one that a stalled store took too late.
    assert store.claim("id", 3) == store.claim("id", 2) == replace(STORED, token=3)
    assert store.advance([STEP, replace(STEP, token=2)]) == [False, False]
    assert store.events("id", 0, 10) == (1, [A])
    assert store.advance([replace(STEP, token=3)]) == [True]
    assert store.statuses(["id", "nobody"]) == [SessionStatus(Progress(2, 3), 3), None]


def test_turns_are_given_once_and_claims_in_any_order_leave_the_newest(store: Store) -> None:
    """Two that had the same would both own the session."""
    store.create(STORED, [A])
    with ThreadPoolExecutor(8) as threads:
        turns = list(threads.map(lambda _: store.next_turn("id"), range(100)))
        assert sorted(turns) == list(range(2, 102))
        claimed = list(threads.map(lambda turn: store.claim("id", turn), reversed(turns)))
    for turn, stored in zip(reversed(turns), claimed, strict=True):
        assert stored is not None
        assert stored.token >= turn
    assert store.load("id") == replace(STORED, token=101)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["claim", "say", "say again"])), max_size=25))
def test_servers_that_take_turns_never_lose_or_double_an_input(store: Store, turns: list[tuple[int, str]]) -> None:
    """Each of three servers believes in what it saw last; only what the store takes counts."""
    name = f"session-{len(turns)}-{abs(hash(tuple(turns)))}"
    store.create(replace(STORED, id=name), [{"n": 0}])
    beliefs: dict[int, StoredSession] = {}
    taken: list[int] = []
    for server, deed in turns:
        if deed == "claim" or server not in beliefs:
            claimed = store.claim(name, store.next_turn(name))
            assert claimed is not None
            beliefs[server] = claimed
            owner = server
            continue
        belief = beliefs[server]
        at = belief.progress
        after = Progress(at.inputs + 1, at.events + 1)
        step = SessionUpdate(name, belief.token, at, after, ({"n": at.events},), "{}", 1.0)
        answers = store.advance([step] * (2 if deed == "say again" else 1))
        assert answers == [server == owner] * len(answers)
        if answers[0]:
            taken.append(after.inputs)
            beliefs[server] = replace(belief, progress=after)
    assert taken == list(range(1, len(taken) + 1))
    assert store.events(name, 0, 100) == (1, [{"n": number} for number in range(len(taken) + 1)])
    if isinstance(store, SqliteStore):
        store.forget(float("inf"))
    else:
        assert isinstance(store, RedisStore)
        store.client.flushall()


def test_sqlite_keeps_all_events_and_redis_the_newest_and_they_keep_their_numbers(store: Store) -> None:
    store.create(STORED, [{"n": 1}])
    steps = [
        SessionUpdate("id", 1, Progress(n - 1, n), Progress(n, n + 1), ({"n": n + 1},), "{}", 1.0)
        for n in range(1, 1001)
    ]
    for begin in range(0, 1000, 50):
        assert store.advance(steps[begin : begin + 50]) == [True] * 50
    first, events = store.events("id", 0, 2000)
    if isinstance(store, SqliteStore):
        assert first == 1
    else:
        # Redis cuts off whole blocks.
        assert JOURNAL <= len(events) <= 2 * JOURNAL
    assert first == 1002 - len(events)
    assert events == [{"n": number} for number in range(first, 1002)]
    assert store.events("id", 1000, 10) == (1001, [{"n": 1001}])


def test_a_ticket_is_good_once(store: Store) -> None:
    ticket = store.issue_ticket("speaker id")
    assert store.use_ticket("another") is None
    assert store.use_ticket(ticket) == "speaker id"
    assert store.use_ticket(ticket) is None


ADVANCE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tests.server.stores.test_base import A, STEP, STORED
from turia.server.stores.redis import RedisStore
from turia.server.stores.sqlite import SqliteStore
store = RedisStore(sys.argv[1]) if sys.argv[1].startswith("redis:") else SqliteStore(Path(sys.argv[1]))
store.create(STORED, [A])
store.advance([STEP])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_what_was_taken_survives_a_kill(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = str(tmp_path / "sessions.sqlite")
    if kind == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.clear()
        place = server.url
    command = [sys.executable, "-c", ADVANCE_AND_DIE, place]
    killed = subprocess.run(command, env=ENVIRONMENT, check=False)
    assert killed.returncode == -9
    store: Store = RedisStore(place) if kind == "redis" else SqliteStore(Path(place))
    assert store.events("id", 0, 10) == (1, [A, B, C])
    store.close()


def test_a_damaged_event_is_an_error_of_the_store() -> None:
    assert read_events(['{"type":"later"}']) == [{"type": "later"}]
    with pytest.raises(StoreError, match="damaged") as caught:
        read_events(['{"type":"source","word":"secret'])
    assert "secret" not in str(caught.value)
