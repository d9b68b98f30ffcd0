"""What is special about SQLite: its file."""

from __future__ import annotations

import os
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
from turia.server.stores.base import DamagedError, StoreError
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
    assert statements.count("COMMIT") == (1 + 1 + 3) + 3 + 1, "the last gives room back"
    assert store._db.execute("SELECT session, count(*) FROM events GROUP BY session").fetchall() == [("young", 25)]
    assert store._db.execute("SELECT id FROM sessions").fetchall() == [("young",)]
    store.close()


def fill(store: SqliteStore, name: str, events: int = 4000) -> None:
    store.create(replace(STORED, id=name, owner=name[0], progress=Progress(0, events)), [{"type": "x" * 1000}] * events)


@pytest.mark.slow
@pytest.mark.parametrize("by_name", [True, False])
def test_the_room_of_what_is_deleted_goes_back_to_the_disk(by_name: bool, tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store = SqliteStore(path)
    fill(store, "old")
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    full = path.stat().st_size
    if by_name:
        store.delete("old")
    else:
        store.forget(untouched_since=20.0)
    assert full > 4_000_000
    assert path.stat().st_size < 1_500_000, "a megabyte is kept for the next words"
    store.close()


@pytest.mark.slow
def test_a_file_of_an_earlier_release_gives_room_back_too(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FIRST_VERSION)
    store = SqliteStore(path)
    fill(store, "new")
    store.delete("new")
    assert path.stat().st_size < 1_500_000
    assert store.events("id", 0, 10) == (1, [A])
    store.close()


def test_sizes_are_those_of_each_owner(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    for name, events in (("a1", 100), ("a2", 50), ("b1", 7)):
        fill(store, name, events)
    assert store.sizes() == {"a": 150 * 140 + 2 * 4096, "b": 7 * 140 + 4096}
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


def test_a_second_server_is_refused_with_the_first_one_s_process(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    first = SqliteStore(path)
    with pytest.raises(ResourceError, match=f"in use by process {os.getpid()}; stop it, or choose another --data"):
        SqliteStore(path)
    first.create(STORED, [A])
    first.close()
    second = SqliteStore(path)
    assert second.load("id") == STORED
    second.close()


@pytest.mark.parametrize("gone", ["sessions.sqlite", "sessions.sqlite-wal"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_gone_takes_nothing(gone: str, replaced: bool, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    store.create(STORED, [A])
    store.check(write=False)
    (tmp_path / gone).rename(tmp_path / "elsewhere")
    if replaced:
        (tmp_path / gone).write_bytes((tmp_path / "elsewhere").read_bytes())
    for write in (lambda: store.advance([STEP]), lambda: store.next_turn("id"), lambda: store.check(write=False)):
        with pytest.raises(StoreError, match="not there any more"):
            write()
    store.close()


def changed(path: Path, statement: str, *values: object) -> SqliteStore:
    """The store after something else has changed it."""
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement, values).rowcount == 1
    return SqliteStore(path)


def filled(path: Path) -> None:
    store = SqliteStore(path)
    store.create(STORED, [A])
    assert store.advance([STEP]) == [True]
    store.close()


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE events SET event = ? WHERE seq = 2", ('{"type":"d"}',)),
        ("UPDATE events SET event = CAST(? AS TEXT) WHERE seq = 2", (b'{"type":"geheimnis \xff"}',)),
        ("UPDATE events SET seq = 9 WHERE seq = 3", ()),
        ("DELETE FROM events WHERE seq = 2", ()),
    ],
)
def test_an_event_that_has_changed_is_damage_and_not_told_in_the_log(
    statement: str, values: tuple[object, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.sqlite"
    filled(path)
    store = changed(path, statement, *values)
    assert store.events("id", 0, 1) == (1, [A])
    with pytest.raises(DamagedError) as caught:
        store.events("id", 0, 10)
    # Nor can whoever logs the error find it there.
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert "geheimnis" not in caplog.text + str(caught.value)
    store.close()


@pytest.mark.parametrize("column", ["owner", "secret_hash", "began", "inputs", "events", "ended", "state"])
def test_a_session_that_has_changed_is_damage(column: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    filled(path)
    value = "x" if column in ("owner", "secret_hash", "state") else 7
    store = changed(path, f"UPDATE sessions SET {column} = ?", value)
    with pytest.raises(DamagedError):
        store.load("id")
    with pytest.raises(DamagedError):
        store.claim("id", 2)
    store.close()


@pytest.mark.slow
def test_flipped_bits_are_never_served(tmp_path: Path) -> None:
    """A bit of every 73rd byte of the file: an error, or all as it was."""
    path = tmp_path / "sessions.sqlite"
    filled(path)
    whole, damaged = path.read_bytes(), 0
    assert not path.with_name("sessions.sqlite-wal").exists()
    for place in range(0, len(whole), 73):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            store = SqliteStore(path)
        except ResourceError:
            damaged += 1
            continue
        try:
            found = store.load("id")
            served = store.events("id", 0, 10)[1]
        except StoreError:
            damaged += 1
        else:
            assert found is None or (found.progress, found.state) == (STEP.after, STEP.state)
            assert served in ([A, B, C], []) if found is None else served == [A, B, C][: len(served)]
        finally:
            store.close()
    assert damaged > 10


def test_a_damaged_file_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store = SqliteStore(path)
    for number in range(200):
        store.create(replace(STORED, id=f"session {number}", state="x" * 500), [A])
    store.close()
    data = bytearray(path.read_bytes())
    data[5 * 4096 : 6 * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(ResourceError, match="the file is damaged; put a copy in its place, or move it away"):
        SqliteStore(path)


def test_a_store_that_took_nothing_is_tried_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    store.check(write=True)
    store._db.execute("PRAGMA query_only = 1")
    store.check(write=False)
    with pytest.raises(StoreError, match="does not answer"):
        store.check(write=True)
    store._db.execute("PRAGMA query_only = 0")
    store.check(write=True)
    store.close()


def test_a_session_whose_name_has_changed_is_damaged_and_not_absent(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    store.create(replace(STORED, id="one"), [A])
    store._db.execute("UPDATE sessions SET id = 'ong'")
    with pytest.raises(DamagedError):
        store.load("one")
    assert store.load("two") is None
    store.delete("one")
    assert store.load("one") is None
    store.close()


@pytest.mark.parametrize(("name", "other"), [("CREATE TABLE events", "CREATE TABLE evends"), ("turn INT", "tusn INT")])
def test_a_table_whose_name_has_changed_is_found_at_the_start(name: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    SqliteStore(path).close()
    data = path.read_bytes()
    assert name.encode() in data
    path.write_bytes(data.replace(name.encode(), other.encode()))
    with pytest.raises(ResourceError, match=r"damaged|malformed"):
        SqliteStore(path)
