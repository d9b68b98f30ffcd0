"""What is special about SQLite: its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.server.stores.test_base import STEP, STORED, A, B, C
from turia.errors import ResourceError
from turia.server.progress import Progress
from turia.server.stores.base import StoreError
from turia.server.stores.sqlite import EVENTS, SqliteStore


def test_old_sessions_are_forgotten_with_their_events(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    store.create(STORED, [A])
    store.create(replace(STORED, id="young", touched=30.0), [A])
    assert store.forget(untouched_since=20.0) == 1
    assert store.load("id") is None
    assert store.events("id", 0, 10)[1] == []
    assert store.events("young", 0, 10) == (1, [A])
    store.close()


def test_long_sessions_are_forgotten_portion_by_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.stores.sqlite.PORTION", 10)
    store = SqliteStore(tmp_path / "sessions.sqlite")
    for name, count in (("short", 1), ("ten", 10), ("long", 25)):
        store.create(replace(STORED, id=name, progress=Progress(0, count)), [A] * count)
    store.create(replace(STORED, id="young", touched=30.0, progress=Progress(0, 25)), [A] * 25)
    statements: list[str] = []
    store._db.set_trace_callback(statements.append)
    assert store.forget(untouched_since=20.0) == 3
    store._db.set_trace_callback(None)
    assert statements.count("COMMIT") == (1 + 1 + 3) + 3
    assert store._db.execute("SELECT session, count(*) FROM events GROUP BY session").fetchall() == [("young", 25)]
    assert store._db.execute("SELECT id FROM sessions").fetchall() == [("young",)]
    store.close()


def steps_of(store: SqliteStore, work: Callable[[], object]) -> int:
    """Instructions of SQLite's own machine; it has some for each row that is looked at."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    store._db.set_progress_handler(step, 1)
    work()
    store._db.set_progress_handler(None, 1)
    return count


def test_a_word_costs_the_same_however_long_its_session_is(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    costs = []
    for name, count in (("a short one", 300), ("b long one", 30_000)):
        store.create(replace(STORED, id=name, progress=Progress(0, count)), [A] * count)
        places = [Progress(n, count + 2 * n) for n in range(3)]
        words = [replace(STEP, session_id=name, before=places[n], after=places[n + 1]) for n in (0, 1)]
        store.advance(words[:1])
        advance = steps_of(store, partial(store.advance, words[1:]))
        news = steps_of(store, partial(store.events, name, count, 200))
        late = steps_of(store, partial(store.events, name, 0, 200))
        costs.append((advance, news, late))
    assert costs[0] == costs[1]
    assert min(costs[0]) > 0
    plan = store._db.execute(f"EXPLAIN QUERY PLAN {EVENTS}", ("id", 0, 200)).fetchall()
    assert [row[3] for row in plan] == ["SEARCH events USING PRIMARY KEY (session=? AND seq>?)"]
    store.close()


def test_what_is_acknowledged_is_on_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    settings = [store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2], "2 is FULL: every commit waits for the disk"
    store.close()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "sessions.sqlite"
    SqliteStore(path).close()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(ResourceError, match="version 9"):
        SqliteStore(path)


SECOND_VERSION = """
ALTER TABLE sessions ADD COLUMN token INTEGER NOT NULL DEFAULT 1;
PRAGMA user_version = 2;
UPDATE sessions SET token = 5;
"""
FIRST_VERSION = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret_hash TEXT NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
    inputs INTEGER NOT NULL, events INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO sessions VALUES ('id', 'owner', 'hash', 10.25, 10.5, 0, 1, 0, '{}');
INSERT INTO events VALUES ('id', 1, '{"type":"a"}');
"""


def test_sessions_of_the_first_version_go_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FIRST_VERSION)
    for token in (2, 3):
        store = SqliteStore(path)
        assert store.next_turn("id") == token
        assert store.claim("id", token) == replace(STORED, token=token)
        store.close()
    store = SqliteStore(path)
    assert store.advance([replace(STEP, token=3)]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    store.close()


def test_sessions_of_the_second_version_go_on_after_their_tokens(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FIRST_VERSION + SECOND_VERSION)
    store = SqliteStore(path)
    assert store.load("id") == replace(STORED, token=5)
    assert store.next_turn("id") == 6
    assert store.claim("id", 6) == replace(STORED, token=6)
    store.close()


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store = SqliteStore(path)
    store.create(STORED, [A])
    # As a disk with room for so many pages.
    store._db.execute("PRAGMA max_page_count = 10")
    with pytest.raises(StoreError, match="does not answer"):
        store.advance([replace(STEP, events=({"type": "b" * 300_000}, C))])
    with pytest.raises(StoreError, match="does not answer"):
        store.create(replace(STORED, id="other", state="b" * 300_000), [A])
    assert store.load("id") == STORED
    store._db.execute("PRAGMA max_page_count = 100000")
    assert store.advance([STEP]) == [True]
    assert store.events("id", 0, 10) == (1, [A, B, C])
    store.close()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(ResourceError, match="cannot keep sessions here"):
        SqliteStore(path)


def test_long_sessions_are_deleted_portion_by_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.stores.sqlite.PORTION", 10)
    store = SqliteStore(tmp_path / "sessions.sqlite")
    events = [{"type": "note", "n": number} for number in range(30)]
    store.create(replace(STORED, progress=Progress(0, 30)), events)
    assert store.delete("id")
    assert store.events("id", 0, 100)[1] == []
    store.close()
