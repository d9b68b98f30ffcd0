"""Sessions in one SQLite file: the store of a single server.

A write-ahead log (WAL) with `synchronous=FULL`: what a transaction wrote is on the disk when it returns, so neither a
crash nor a power cut costs what was acknowledged. That is one wait for the disk for each round of the worker, however
many sessions it has (docs/server.md has the figures). Tickets live in memory: they are good for seconds.

**Whole or not at all.** Every event and every state has a checksum, which is compared when it is read; the file as a
whole is checked at the start. What does not fit raises DamagedError, which tells nobody to try again. Rows of earlier
releases have no checksum.

**One process.** A lock beside the file keeps a second server out. Before each commit it is checked that the file is
still there under its name: SQLite itself goes on writing into a file that was deleted.

All events of a session stay as long as the session does. Nothing that is done for a word depends on how many there are:
every query finds its rows by the primary key, and what is forgotten goes in portions, between which words are stored.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from turia.errors import ResourceError
from turia.schema import JsonObject, to_dict, write_json
from turia.server.access import Tickets
from turia.server.limits import Limits
from turia.server.progress import Progress
from turia.server.stores.base import (
    DamagedError,
    SessionOwner,
    SessionStatus,
    SessionUpdate,
    StoredRoom,
    StoredSession,
    StoreError,
    read_events,
    read_room,
)
from turia.system.locks import hold

SCHEMA_VERSION = 4
SCHEMA = f"""
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret_hash TEXT NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
    inputs INTEGER NOT NULL, events INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL,
    token INTEGER NOT NULL DEFAULT 1, turn INTEGER NOT NULL DEFAULT 1, head_sum INTEGER, state_sum INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, sum INTEGER, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""
ROOMS = "CREATE TABLE IF NOT EXISTS rooms (name TEXT PRIMARY KEY, room TEXT NOT NULL) STRICT, WITHOUT ROWID"
"""Of no version: older releases pass over a table that they do not know."""
UPGRADES = (
    "ALTER TABLE sessions ADD COLUMN token INTEGER NOT NULL DEFAULT 1;",
    "ALTER TABLE sessions ADD COLUMN turn INTEGER NOT NULL DEFAULT 1; UPDATE sessions SET turn = token;",
    "ALTER TABLE sessions ADD COLUMN head_sum INTEGER; ALTER TABLE sessions ADD COLUMN state_sum INTEGER;"
    " ALTER TABLE events ADD COLUMN sum INTEGER;",
)
"""From each older version, 1 and on, to the next."""
COLUMNS = "id, owner, secret_hash, began, touched, inputs, events, ended, state, token, head_sum, state_sum"
DAMAGED = "the file is damaged; put a copy in its place, or move it away"
EVENTS = "SELECT seq, event, sum FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
PORTION = 5000
"""Events that are deleted at once, and pages that are given back at once."""
KEPT_PAGES = 250
"""Free pages that stay in the file, a megabyte: the next words need them."""
EVENT_BYTES, SESSION_BYTES = 140, 4096
"""About what each takes in the file, for quotas."""
BUSY = 10.0
"""Seconds to wait for another program that has the file, such as a backup."""
INCREMENTAL = 2
"""What `PRAGMA auto_vacuum` says of a file that gives room back."""
CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
log = logging.getLogger("turia.server")


class SqliteStore:
    """Sessions in one file, which is this process's own."""

    def __init__(self, path: Path, ticket_seconds: float = Limits.ticket) -> None:
        self._lock = threading.Lock()
        self._tickets: Tickets[str] = Tickets(ticket_seconds)
        with ExitStack() as opened:
            try:
                # Transcripts are other people's words: no one else's eyes.
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                opened.enter_context(hold(path.with_suffix(".lock"), "stop it, or choose another --data"))
                path.touch(mode=0o600)
                self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY)
                opened.enter_context(closing(self._db))
                _prepare(self._db, path)
                self._files = [(file, _identity(file)) for file in (path, path.with_name(f"{path.name}-wal"))]
            except (OSError, sqlite3.Error, UnicodeError) as error:
                raise ResourceError(f"{path}: cannot keep sessions here: {error}") from error
            self._opened = opened.pop_all()

    def create(self, session: StoredSession, events: Sequence[JsonObject]) -> None:
        at = session.progress
        assert at.events == len(events)
        row = (
            *(session.id, session.owner, session.secret_hash, session.began, session.touched),
            *(at.inputs, at.events, at.ended, session.state, session.token),
            _head_sum(session.id, session.owner, session.secret_hash, session.began),
            _state_sum(session.id, at, session.state),
        )
        with self._writing() as db:
            db.execute(f"INSERT INTO sessions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._add_events(db, session.id, 0, events)

    def load(self, session_id: str) -> StoredSession | None:
        with self._reading() as db:
            row = db.execute(f"SELECT {COLUMNS} FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is None and db.execute("SELECT 1 FROM events WHERE session = ? LIMIT 1", (session_id,)).fetchone():
                # A row is deleted with the last of its events: one of the two has another name than it was given.
                raise DamagedError
        return None if row is None else _session(*row)

    def whose(self, session_id: str) -> SessionOwner | None:
        try:
            with self._reading() as db:
                query = "SELECT owner, secret_hash FROM sessions WHERE id = ?"
                row = db.execute(query, (session_id,)).fetchone()
        except DamagedError:
            return None
        return None if row is None else SessionOwner(*row)

    def followers(self, session_id: str) -> list[str]:
        # By the primary key: a slash is the character behind the dot.
        query = "SELECT id FROM sessions WHERE id > ? AND id < ?"
        with self._reading() as db:
            return [name for (name,) in db.execute(query, (f"{session_id}.", f"{session_id}/")).fetchall()]

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
            "UPDATE sessions SET inputs = ?, events = ?, ended = ?, state = ?, state_sum = ?, touched = ?"
            " WHERE id = ? AND token = ? AND inputs = ? AND events = ?",
            (
                *(after.inputs, after.events, after.ended, update.state),
                *(_state_sum(update.session_id, after, update.state), update.touched),
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
        for number, (seq, text, found) in enumerate(rows, start=after + 1):
            if seq != number or found not in (None, _sum(session_id, seq, text)):
                raise DamagedError
        return after + 1, read_events(text for _, text, _ in rows)

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
        count = sum(self._forget_one(session_id, events, untouched_since) for session_id, events in old)
        self._give_back()
        return count

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
        self._give_back()
        return bool(found)

    def _give_back(self) -> None:
        """Free pages go back to the disk, a portion at a time, between which words are stored."""
        before = -1
        while True:
            with self._writing() as db:
                (free,) = db.execute("PRAGMA freelist_count").fetchone()
                if free <= KEPT_PAGES or free == before:
                    break
                before = free
                db.execute(f"PRAGMA incremental_vacuum({PORTION})").fetchall()
        with self._reading() as db:
            # The log that is written ahead has the words too; and the file becomes smaller only now.
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def sizes(self) -> dict[str, int]:
        """About how many bytes the sessions of each owner take. By its own connection: words do not wait for it."""
        query = f"SELECT owner, {EVENT_BYTES} * sum(events) + {SESSION_BYTES} * count(*) FROM sessions GROUP BY owner"
        try:
            with closing(sqlite3.connect(f"{self._files[0][0].resolve().as_uri()}?mode=ro", uri=True)) as db:
                return dict(db.execute(query).fetchall())
        except sqlite3.Error:
            raise StoreError("the store of sessions does not answer; try again soon") from None

    def rooms(self) -> list[StoredRoom]:
        with self._reading() as db:
            rows = db.execute("SELECT room FROM rooms ORDER BY name").fetchall()
        return [read_room(text) for (text,) in rows]

    def put_room(self, room: StoredRoom) -> None:
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO rooms VALUES (?, ?)", (room.name, write_json(to_dict(room))))

    def delete_room(self, name: str) -> bool:
        with self._writing() as db:
            return db.execute("DELETE FROM rooms WHERE name = ?", (name,)).rowcount == 1

    def check(self, write: bool) -> None:
        self._check_files()
        if write:
            with self._writing() as db:
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def close(self) -> None:
        with self._lock:
            self._opened.close()

    def _add_events(self, db: sqlite3.Connection, session_id: str, before: int, events: Sequence[JsonObject]) -> None:
        texts = enumerate(map(write_json, events), start=before + 1)
        rows = ((session_id, number, text, _sum(session_id, number, text)) for number, text in texts)
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)

    def _check_files(self) -> None:
        """That what is written now will be found after a restart."""
        if any(_identity(path) != identity for path, identity in self._files):
            log.error("the file of sessions was deleted or replaced; restart the server")
            raise StoreError("the store of sessions is not there any more; its operator must restart the server")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """What SQLite cannot do (the disk is full, or gone) is the same error as the silence of any store."""
        with self._lock:
            try:
                yield self._db
            except (sqlite3.Error, UnicodeError) as error:
                # Its text may hold what was said; its name does not, and the error is not passed on.
                name = getattr(error, "sqlite_errorname", None)
                log.warning("the file of sessions fails: %s", name or type(error).__name__)
                # An error of operation without a name is the module's: a text that is not UTF-8. So may an error's be.
                broken = isinstance(error, UnicodeError) or (
                    name is None and isinstance(error, sqlite3.OperationalError)
                )
                if broken or (name or "").startswith(CORRUPT):
                    raise DamagedError from None
                raise StoreError("the store of sessions does not answer; try again soon") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; the lock for writing is taken at the beginning."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                self._check_files()
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
    head_sum: int | None,
    state_sum: int | None,
) -> StoredSession:
    """From the columns of a row."""
    progress = Progress(inputs, events, bool(ended))
    if head_sum not in (None, _head_sum(session_id, owner, secret_hash, began)):
        raise DamagedError
    if state_sum not in (None, _state_sum(session_id, progress, state)):
        raise DamagedError
    return StoredSession(session_id, owner, secret_hash, began, touched, progress, state, token)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Checks the file, and makes its tables or brings them to this version."""
    # Before anything else: a file that has tables keeps what it was made with, until `_make_shrinkable`.
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    # What is deleted is overwritten, and does not wait in a free page for whoever gets the file.
    db.execute("PRAGMA secure_delete = ON")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if not 0 <= version <= SCHEMA_VERSION:
        raise ResourceError(f"{path}: sessions of version {version}; this Turia keeps {SCHEMA_VERSION}: move it away")
    ((found,),) = db.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise ResourceError(f"{path}: {DAMAGED}")
    if version == 0:
        db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
    elif version < SCHEMA_VERSION:
        steps = " ".join(UPGRADES[version - 1 :])
        db.executescript(f"BEGIN; {steps} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
    db.execute(ROOMS)
    try:
        # The names of tables and columns are text in the file too, which no check of SQLite looks at.
        db.execute(f"SELECT {COLUMNS}, turn FROM sessions LIMIT 0")
        db.execute("SELECT session, seq, event, sum FROM events LIMIT 0")
    except sqlite3.Error:
        raise ResourceError(f"{path}: {DAMAGED}") from None
    _make_shrinkable(db)


def _make_shrinkable(db: sqlite3.Connection) -> None:
    """Lets a file of an earlier release give room back, once. It is written anew, which needs as much room again."""
    (way,) = db.execute("PRAGMA auto_vacuum").fetchone()
    if way == INCREMENTAL:
        return
    try:
        db.execute("VACUUM")
    except sqlite3.Error as error:
        log.warning("the file of sessions cannot be written anew: %s", error.sqlite_errorname)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name now."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _sum(*values: object) -> int:
    """A checksum, against bits that changed: whoever can write the file can write that too."""
    return zlib.crc32("\0".join(map(str, values)).encode("utf-8", "surrogatepass"))


def _head_sum(session_id: str, owner: str, secret_hash: str, began: float) -> int:
    # What RETURNING gives of a REAL that is whole is an INTEGER.
    return _sum(session_id, owner, secret_hash, str(began).removesuffix(".0"))


def _state_sum(session_id: str, at: Progress, state: str) -> int:
    return _sum(session_id, at.inputs, at.events, at.ended, state)
