"""What a store promises, whichever it is."""

from __future__ import annotations

import os
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
from turia.server.redis_store import RedisStore
from turia.server.sqlite_store import SqliteStore
from turia.server.store import Advance, Saved, Standing, Store

SAVED = Saved("id", "owner", "hash", 10.25, 10.5, 0, 1, False, "{}")
STEP = Advance("id", 1, 0, 2, 1, ("b", "c"), False, '{"x":"ü"}', 20.0)
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
    store.create(SAVED, ["a"])
    assert store.load("id") == SAVED
    assert store.events("id", 0, 10) == (1, ["a"])
    assert store.load("other") is None
    assert store.claim("other", 1) is None
    assert store.next_turn("other") == 0
    assert store.events("other", 0, 10)[1] == []


def test_an_advance_moves_everything_together(store: Store) -> None:
    store.create(SAVED, ["a"])
    assert store.advance([STEP]) == [True]
    assert store.load("id") == replace(SAVED, inputs=2, events=3, state='{"x":"ü"}', touched=20.0)
    assert store.events("id", 1, 1) == (2, ["b"])
    assert store.events("id", 1, 10) == (2, ["b", "c"])
    assert store.advance([]) == []


def test_an_advance_whose_answer_was_lost_is_taken_once(store: Store) -> None:
    store.create(SAVED, ["a"])
    assert store.advance([STEP]) == [True]
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, ["a", "b", "c"])
    silent = Advance("id", 1, 2, 3, 3, (), True, "{}", 21.0)
    assert store.advance([silent, silent]) == [True, True]
    saved = store.load("id")
    assert saved is not None
    assert (saved.inputs, saved.events, saved.ended) == (3, 3, True)


def test_an_advance_from_elsewhere_is_not_taken_and_harms_no_other(store: Store) -> None:
    store.create(SAVED, ["a"])
    store.create(replace(SAVED, id="other"), ["a"])
    stale = replace(STEP, inputs_before=1)
    taken = store.advance([stale, replace(STEP, session="other"), replace(STEP, session="nobody")])
    assert taken == [False, True, False]
    assert store.load("id") == SAVED
    assert store.events("id", 0, 10) == (1, ["a"])
    assert store.events("other", 0, 10) == (1, ["a", "b", "c"])


def test_the_newest_turn_owns_the_session(store: Store) -> None:
    store.create(SAVED, ["a"])
    assert [store.next_turn("id") for _ in range(2)] == [2, 3]
    assert store.load("id") == SAVED, "a turn that is only given takes nothing from anybody"
    assert store.claim("id", 2) == replace(SAVED, token=2)
    assert store.claim("id", 3) == replace(SAVED, token=3)
    # One whose answer was lost, and one that a stalled store took too late.
    assert store.claim("id", 3) == store.claim("id", 2) == replace(SAVED, token=3)
    assert store.advance([STEP, replace(STEP, token=2)]) == [False, False]
    assert store.events("id", 0, 10) == (1, ["a"])
    assert store.advance([replace(STEP, token=3)]) == [True]
    assert store.standings(["id", "nobody"]) == [Standing(2, 3, False, 3), None]


def test_turns_are_given_once_and_claims_in_any_order_leave_the_newest(store: Store) -> None:
    """Two that had the same would both own the session."""
    store.create(SAVED, ["a"])
    with ThreadPoolExecutor(8) as threads:
        turns = list(threads.map(lambda _: store.next_turn("id"), range(100)))
        assert sorted(turns) == list(range(2, 102))
        claimed = list(threads.map(lambda turn: store.claim("id", turn), reversed(turns)))
    for turn, saved in zip(reversed(turns), claimed, strict=True):
        assert saved is not None
        assert saved.token >= turn
    assert store.load("id") == replace(SAVED, token=101)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["claim", "say", "say again"])), max_size=25))
def test_servers_that_take_turns_never_lose_or_double_an_input(store: Store, turns: list[tuple[int, str]]) -> None:
    """Each of three servers believes in what it saw last; only what the store takes counts."""
    name = f"session-{len(turns)}-{abs(hash(tuple(turns)))}"
    store.create(replace(SAVED, id=name), ["0"])
    beliefs: dict[int, Saved] = {}
    taken: list[int] = []
    for server, deed in turns:
        if deed == "claim" or server not in beliefs:
            claimed = store.claim(name, store.next_turn(name))
            assert claimed is not None
            beliefs[server] = claimed
            owner = server
            continue
        at = beliefs[server]
        step = Advance(name, at.token, at.inputs, at.inputs + 1, at.events, (str(at.events),), False, "{}", 1.0)
        answers = store.advance([step] * (2 if deed == "say again" else 1))
        assert answers == [server == owner] * len(answers)
        if answers[0]:
            taken.append(at.inputs + 1)
            beliefs[server] = replace(at, inputs=at.inputs + 1, events=at.events + 1)
    assert taken == list(range(1, len(taken) + 1))
    assert store.events(name, 0, 100) == (1, [str(number) for number in range(len(taken) + 1)])
    if isinstance(store, SqliteStore):
        store.forget(float("inf"))
    else:
        assert isinstance(store, RedisStore)
        store.client.flushall()


def test_sqlite_keeps_all_events_and_redis_the_newest_and_they_keep_their_numbers(store: Store) -> None:
    store.create(SAVED, ["event 1"])
    steps = [Advance("id", 1, n - 1, n, n, (f"event {n + 1}",), False, "{}", 1.0) for n in range(1, 1001)]
    for begin in range(0, 1000, 50):
        assert store.advance(steps[begin : begin + 50]) == [True] * 50
    first, events = store.events("id", 0, 2000)
    if isinstance(store, SqliteStore):
        assert first == 1
    else:
        # Redis cuts off whole blocks.
        assert JOURNAL <= len(events) <= 2 * JOURNAL
    assert first == 1002 - len(events)
    assert events == [f"event {number}" for number in range(first, 1002)]
    assert store.events("id", 1000, 10) == (1001, ["event 1001"])


def test_a_ticket_is_good_once(store: Store) -> None:
    ticket = store.issue_ticket("speaker id")
    assert store.use_ticket("another") is None
    assert store.use_ticket(ticket) == "speaker id"
    assert store.use_ticket(ticket) is None


ADVANCE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tests.server.test_store import SAVED, STEP
from turia.server.redis_store import RedisStore
from turia.server.sqlite_store import SqliteStore
store = RedisStore(sys.argv[1]) if sys.argv[1].startswith("redis:") else SqliteStore(Path(sys.argv[1]))
store.create(SAVED, ["a"])
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
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", ADVANCE_AND_DIE, place]
    killed = subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, check=False)
    assert killed.returncode == -9
    store: Store = RedisStore(place) if kind == "redis" else SqliteStore(Path(place))
    assert store.events("id", 0, 10) == (1, ["a", "b", "c"])
    store.close()
