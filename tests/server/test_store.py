"""What a store promises."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from turia.errors import ResourceError
from turia.server.store import Advance, Saved, SqliteStore

SAVED = Saved("id", "owner", "hash", 10.0, 10.0, 0, 1, False, "{}")
STEP = Advance("id", 0, 2, 1, ("b", "c"), False, '{"x":1}', 20.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "new" / "sessions.sqlite")
    yield opened
    opened.close()


def test_what_is_created_is_found(store: SqliteStore) -> None:
    store.create(SAVED, ["a"])
    assert store.load("id") == SAVED
    assert store.events("id", 0, 10) == ["a"]
    assert store.load("other") is None
    assert store.events("other", 0, 10) == []


def test_an_advance_moves_everything_together(store: SqliteStore) -> None:
    store.create(SAVED, ["a"])
    assert store.advance([STEP]) == [True]
    assert store.load("id") == replace(SAVED, inputs=2, events=3, state='{"x":1}', touched=20.0)
    assert store.events("id", 1, 1) == ["b"]
    assert store.events("id", 1, 10) == ["b", "c"]


def test_an_advance_from_elsewhere_is_not_taken_and_harms_no_other(store: SqliteStore) -> None:
    store.create(SAVED, ["a"])
    store.create(replace(SAVED, id="other"), ["a"])
    stale = replace(STEP, inputs_before=1)
    assert store.advance([stale, replace(STEP, session="other"), replace(STEP, session="nobody")]) == [
        False,
        True,
        False,
    ]
    assert store.load("id") == SAVED
    assert store.events("id", 0, 10) == ["a"]
    assert store.events("other", 0, 10) == ["a", "b", "c"]


def test_old_sessions_are_forgotten_with_their_events(store: SqliteStore) -> None:
    store.create(SAVED, ["a"])
    store.create(replace(SAVED, id="young", touched=30.0), ["a"])
    assert store.forget(untouched_since=20.0) == 1
    assert store.load("id") is None
    assert store.events("id", 0, 10) == []
    assert store.events("young", 0, 10) == ["a"]


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


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(ResourceError, match="cannot keep sessions here"):
        SqliteStore(path)


ADVANCE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tests.server.test_store import SAVED, STEP
from turia.server.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
store.create(SAVED, ["a"])
store.advance([STEP])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_taken_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", ADVANCE_AND_DIE, str(path)]
    killed = subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, check=False)
    assert killed.returncode == -9
    store = SqliteStore(path)
    assert store.events("id", 0, 10) == ["a", "b", "c"]
    store.close()
