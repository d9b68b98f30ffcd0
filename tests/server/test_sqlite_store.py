"""What is special about SQLite: its file."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.server.test_store import SAVED
from turia.errors import ResourceError
from turia.server.sqlite_store import SqliteStore


def test_old_sessions_are_forgotten_with_their_events(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.sqlite")
    store.create(SAVED, ["a"])
    store.create(replace(SAVED, id="young", touched=30.0), ["a"])
    assert store.forget(untouched_since=20.0) == 1
    assert store.load("id") is None
    assert store.events("id", 0, 10)[1] == []
    assert store.events("young", 0, 10) == (1, ["a"])
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


def test_sessions_of_the_first_version_go_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store = SqliteStore(path)
    store.create(SAVED, ["a"])
    store.close()
    with sqlite3.connect(path) as db:
        db.executescript("ALTER TABLE sessions DROP COLUMN token; PRAGMA user_version = 1;")
    store = SqliteStore(path)
    assert store.load("id") == SAVED
    store.close()
    SqliteStore(path).close()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(ResourceError, match="cannot keep sessions here"):
        SqliteStore(path)
