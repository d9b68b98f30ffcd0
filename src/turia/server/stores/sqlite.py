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
from pathlib import Path

from turia.errors import ResourceError
from turia.schema import JsonObject, write_json
from turia.server.access import Tickets
from turia.server.limits import Limits
from turia.server.progress import Progress
from turia.server.stores.base import SessionStatus, SessionUpdate, StoredSession, StoreError, read_events

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
            # What is deleted is overwritten, and does not wait in a free page for whoever gets the file.
            self._db.execute("PRAGMA secure_delete = ON")
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

    def create(self, session: StoredSession, events: Sequence[JsonObject]) -> None:
        at = session.progress
        assert at.events == len(events)
        row = (
            *(session.id, session.owner, session.secret_hash, session.began, session.touched),
            *(at.inputs, at.events, at.ended, session.state, session.token),
        )
        with self._writing() as db:
            db.execute(f"INSERT INTO sessions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._add_events(db, session.id, 0, events)

    def load(self, session_id: str) -> StoredSession | None:
        with self._reading() as db:
            row = db.execute(f"SELECT {COLUMNS} FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return None if row is None else _session(*row)

    def next_turn(self, session_id: str) -> int:
        query = "UPDATE sessions SET turn = turn + 1 WHERE id = ? RETURNING turn"
        with self._writing() as db:
            rows = db.execute(query, (session_id,)).fetchall()
        return int(rows[0][0]) if rows else 0

    def claim(self, session_id: str, turn: int) -> StoredSession | None:
        query = f"UPDATE sessions SET token = max(token, ?) WHERE id = ? RETURNING {COLUMNS}"
        with self._writing() as db:
            rows = db.execute(query, (turn, session_id)).fetchall()
        return _session(*rows[0]) if rows else None

    def advance(self, updates: Sequence[SessionUpdate]) -> list[bool]:
        with self._writing() as db:
            return [self._advance_one(db, update) for update in updates]

    def _advance_one(self, db: sqlite3.Connection, update: SessionUpdate) -> bool:
        before, after = update.before, update.after
        changed = db.execute(
            "UPDATE sessions SET inputs = ?, events = ?, ended = ?, state = ?, touched = ?"
            " WHERE id = ? AND token = ? AND inputs = ? AND events = ?",
            (
                *(after.inputs, after.events, after.ended, update.state, update.touched),
                *(update.session_id, update.token, before.inputs, before.events),
            ),
        )
        if changed.rowcount == 0:
            query = "SELECT 1 FROM sessions WHERE id = ? AND token = ? AND inputs = ? AND events = ?"
            there = db.execute(query, (update.session_id, update.token, after.inputs, after.events))
            return there.fetchone() is not None
        self._add_events(db, update.session_id, before.events, update.events)
        return True

    def events(self, session_id: str, after: int, most: int) -> tuple[int, list[JsonObject]]:
        with self._reading() as db:
            rows = db.execute(EVENTS, (session_id, after, most)).fetchall()
        return (rows[0][0] if rows else after + 1), read_events(text for _, text in rows)

    def statuses(self, session_ids: Sequence[str]) -> list[SessionStatus | None]:
        found = (self.load(session_id) for session_id in session_ids)
        return [None if one is None else SessionStatus(one.progress, one.token) for one in found]

    def issue_ticket(self, value: str) -> str:
        with self._lock:
            return self._tickets.issue(value, time.monotonic())

    def use_ticket(self, ticket: str) -> str | None:
        with self._lock:
            return self._tickets.use(ticket, time.monotonic())

    def forget(self, untouched_since: float) -> int:
        with self._reading() as db:
            old = db.execute("SELECT id, events FROM sessions WHERE touched < ?", (untouched_since,)).fetchall()
        return sum(self._forget_one(session_id, events, untouched_since) for session_id, events in old)

    def _forget_one(self, session_id: str, events: int, untouched_since: float) -> int:
        """What a crash leaves of it is deleted the next time. If it is used again meanwhile, the rest of it stays."""
        old = "SELECT id FROM sessions WHERE id = ? AND touched < ?"
        for last in (*range(PORTION, events, PORTION), events):
            with self._writing() as db:
                query = f"DELETE FROM events WHERE session = ({old}) AND seq <= ?"
                db.execute(query, (session_id, untouched_since, last))
        with self._writing() as db:
            return db.execute(f"DELETE FROM sessions WHERE id = ({old})", (session_id, untouched_since)).rowcount

    def delete(self, session_id: str) -> bool:
        """A portion of events at a time; its row goes with the last, so that after a crash it is deleted again."""
        while True:
            with self._writing() as db:
                query = (
                    "DELETE FROM events WHERE session = ? AND seq IN (SELECT seq FROM events WHERE session = ? LIMIT ?)"
                )
                if db.execute(query, (session_id, session_id, PORTION)).rowcount == PORTION:
                    continue
                found = db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount
                break
        with self._reading() as db:
            # The log that is written ahead has the words too.
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bool(found)

    def close(self) -> None:
        with self._lock, closing(self._db):
            pass

    def _add_events(self, db: sqlite3.Connection, session_id: str, before: int, events: Sequence[JsonObject]) -> None:
        rows = ((session_id, number, write_json(event)) for number, event in enumerate(events, start=before + 1))
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """What SQLite cannot do (the disk is full, or gone) is the same error as the silence of any store."""
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


def _session(
    session_id: str,
    owner: str,
    secret_hash: str,
    began: float,
    touched: float,
    inputs: int,
    events: int,
    ended: int,
    state: str,
    token: int,
) -> StoredSession:
    """From the columns of a row."""
    progress = Progress(inputs, events, bool(ended))
    return StoredSession(session_id, owner, secret_hash, began, touched, progress, state, token)
