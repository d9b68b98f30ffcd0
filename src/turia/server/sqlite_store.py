"""Sessions in one SQLite file: the store of a single server.

A write-ahead log (WAL) with `synchronous=FULL`: what a transaction wrote is on the disk when it returns, so neither a
crash nor a power cut costs what was acknowledged. That is one wait for the disk for each round of the worker, however
many sessions it has (docs/server.md has the figures). Tickets live in memory: they are good for seconds.

All events of a session stay as long as the session does. Nothing that is done for a word depends on how many there are:
every query finds its rows by the primary key, and what is forgotten goes in portions, between which words are stored.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from turia.errors import ResourceError
from turia.server.access import Tickets
from turia.server.limits import Limits
from turia.server.store import Advance, Saved, Standing, StoreError

SCHEMA_VERSION = 3
SCHEMA = f"""
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret_hash TEXT NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
    inputs INTEGER NOT NULL, events INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL,
    token INTEGER NOT NULL DEFAULT 1, turn INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""
UPGRADES = (
    "ALTER TABLE sessions ADD COLUMN token INTEGER NOT NULL DEFAULT 1;",
    "ALTER TABLE sessions ADD COLUMN turn INTEGER NOT NULL DEFAULT 1; UPDATE sessions SET turn = token;",
)
"""From each older version, 1 and on, to the next."""
COLUMNS = "id, owner, secret_hash, began, touched, inputs, events, ended, state, token"
EVENTS = "SELECT seq, event FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
PORTION = 5000
"""Events that are deleted at once."""
log = logging.getLogger("turia.server")


class SqliteStore:
    """Sessions in one file, which is this process's own."""

    def __init__(self, path: Path, ticket_seconds: float = Limits.ticket) -> None:
        self._lock = threading.Lock()
        self._tickets: Tickets[str] = Tickets(ticket_seconds)
        try:
            # Transcripts are other people's words: no one else's eyes.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
            elif 0 < version < SCHEMA_VERSION:
                steps = " ".join(UPGRADES[version - 1 :])
                self._db.executescript(f"BEGIN; {steps} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
        except (OSError, sqlite3.Error) as error:
            raise ResourceError(f"{path}: cannot keep sessions here: {error}") from error
        if not 0 <= version <= SCHEMA_VERSION:
            raise ResourceError(
                f"{path}: sessions of version {version}; this Turia keeps {SCHEMA_VERSION}: move it away"
            )

    def create(self, saved: Saved, events: Sequence[str]) -> None:
        assert saved.events == len(events)
        with self._writing() as db:
            db.execute(
                f"INSERT INTO sessions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(saved).values())
            )
            self._add_events(db, saved.id, 0, events)

    def load(self, session: str) -> Saved | None:
        with self._reading() as db:
            row = db.execute(f"SELECT {COLUMNS} FROM sessions WHERE id = ?", (session,)).fetchone()
        return None if row is None else _saved(row)

    def next_turn(self, session: str) -> int:
        with self._writing() as db:
            rows = db.execute("UPDATE sessions SET turn = turn + 1 WHERE id = ? RETURNING turn", (session,)).fetchall()
        return int(rows[0][0]) if rows else 0

    def claim(self, session: str, turn: int) -> Saved | None:
        query = f"UPDATE sessions SET token = max(token, ?) WHERE id = ? RETURNING {COLUMNS}"
        with self._writing() as db:
            rows = db.execute(query, (turn, session)).fetchall()
        return _saved(rows[0]) if rows else None

    def advance(self, advances: Sequence[Advance]) -> list[bool]:
        with self._writing() as db:
            return [self._advance_one(db, advance) for advance in advances]

    def _advance_one(self, db: sqlite3.Connection, step: Advance) -> bool:
        after = step.events_before + len(step.events)
        changed = db.execute(
            "UPDATE sessions SET inputs = ?, events = ?, ended = ?, state = ?, touched = ?"
            " WHERE id = ? AND token = ? AND inputs = ? AND events = ?",
            (
                *(step.inputs, after, step.ended, step.state, step.touched),
                *(step.session, step.token, step.inputs_before, step.events_before),
            ),
        )
        if changed.rowcount == 0:
            query = "SELECT 1 FROM sessions WHERE id = ? AND token = ? AND inputs = ? AND events = ?"
            return db.execute(query, (step.session, step.token, step.inputs, after)).fetchone() is not None
        self._add_events(db, step.session, step.events_before, step.events)
        return True

    def events(self, session: str, after: int, most: int) -> tuple[int, list[str]]:
        with self._reading() as db:
            rows = db.execute(EVENTS, (session, after, most)).fetchall()
        return (rows[0][0] if rows else after + 1), [event for _, event in rows]

    def standings(self, sessions: Sequence[str]) -> list[Standing | None]:
        saved = (self.load(session) for session in sessions)
        return [None if one is None else Standing(one.inputs, one.events, one.ended, one.token) for one in saved]

    def issue_ticket(self, value: str) -> str:
        with self._lock:
            return self._tickets.issue(value, time.monotonic())

    def use_ticket(self, ticket: str) -> str | None:
        with self._lock:
            return self._tickets.use(ticket, time.monotonic())

    def forget(self, untouched_since: float) -> int:
        with self._reading() as db:
            old = db.execute("SELECT id, events FROM sessions WHERE touched < ?", (untouched_since,)).fetchall()
        return sum(self._forget_one(session, events, untouched_since) for session, events in old)

    def _forget_one(self, session: str, events: int, untouched_since: float) -> int:
        """What a crash leaves of it goes the next time; from whoever uses it again meanwhile nothing more is taken."""
        old = "SELECT id FROM sessions WHERE id = ? AND touched < ?"
        for last in (*range(PORTION, events, PORTION), events):
            with self._writing() as db:
                db.execute(f"DELETE FROM events WHERE session = ({old}) AND seq <= ?", (session, untouched_since, last))
        with self._writing() as db:
            return db.execute(f"DELETE FROM sessions WHERE id = ({old})", (session, untouched_since)).rowcount

    def close(self) -> None:
        with self._lock, closing(self._db):
            pass

    def _add_events(self, db: sqlite3.Connection, session: str, before: int, events: Sequence[str]) -> None:
        rows = ((session, before + offset, event) for offset, event in enumerate(events, start=1))
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """What SQLite cannot do (the disk is full, or gone) is told as the silence of any store."""
        with self._lock:
            try:
                yield self._db
            except sqlite3.Error as error:
                log.warning("the file of sessions fails: %s", error)
                raise StoreError("the store of sessions does not answer; try again soon") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; the lock for writing is taken at the beginning."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                # SQLite itself has ended a transaction that found no room.
                if db.in_transaction:
                    db.execute("ROLLBACK")


def _saved(row: tuple[Any, ...]) -> Saved:
    saved = Saved(*row)
    return replace(saved, ended=bool(saved.ended))
