"""Where sessions live: what a store promises, and the one in SQLite.

**Promise.** When `advance` returns, what it was given survives the death of this process at any moment (`kill -9`):
inputs counted, events and state together, or none of them. An advance is taken only if the session still stands where
the caller believed it to be; two servers on one store therefore cannot both continue a session.

SQLite keeps a write-ahead log (WAL) with `synchronous=NORMAL`: a crash of the process loses nothing, a power cut may
lose the last moments but never tears a transaction.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from turia.errors import ResourceError

SCHEMA_VERSION = 1
SCHEMA = f"""
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret_hash TEXT NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
    inputs INTEGER NOT NULL, events INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""


@dataclass(frozen=True)
class Saved:
    """A session as it is stored."""

    id: str
    owner: str
    """Whose key began it; never the key itself."""
    secret_hash: str
    began: float
    """Seconds since 1970, as is `touched`."""
    touched: float
    inputs: int
    """Number of the last input that is part of `state`."""
    events: int
    """Number of the last event."""
    ended: bool
    state: str


@dataclass(frozen=True)
class Advance:
    """A session goes on: from `inputs_before` to `inputs`, with these events and this state."""

    session: str
    inputs_before: int
    inputs: int
    events_before: int
    events: tuple[str, ...]
    ended: bool
    state: str
    touched: float


class Store(Protocol):
    """Keeps sessions. Every method may be called from any thread."""

    def create(self, saved: Saved, events: Sequence[str]) -> None: ...

    def load(self, session: str) -> Saved | None: ...

    def advance(self, advances: Sequence[Advance]) -> list[bool]:
        """Takes all advances at once; False for a session that is not where its advance begins."""
        ...

    def events(self, session: str, after: int, most: int) -> list[str]:
        """At most `most` events that follow number `after`."""
        ...

    def forget(self, untouched_since: float) -> int:
        """Deletes sessions that nobody has used since then; how many."""
        ...

    def close(self) -> None: ...


class SqliteStore:
    """Sessions in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            # Transcripts are other people's words: no one else's eyes.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        except (OSError, sqlite3.Error) as error:
            raise ResourceError(f"{path}: cannot keep sessions here: {error}") from error
        if version not in (0, SCHEMA_VERSION):
            raise ResourceError(
                f"{path}: sessions of version {version}; this Turia keeps {SCHEMA_VERSION}: move it away"
            )

    def create(self, saved: Saved, events: Sequence[str]) -> None:
        assert saved.events == len(events)
        with self._lock, self._db_transaction() as db:
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(saved).values()))
            self._add_events(db, saved.id, 0, events)

    def load(self, session: str) -> Saved | None:
        with self._lock:
            row = self._db.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
        if row is None:
            return None
        saved = Saved(*row)
        return Saved(**vars(saved) | {"ended": bool(saved.ended)})

    def advance(self, advances: Sequence[Advance]) -> list[bool]:
        with self._lock, self._db_transaction() as db:
            return [self._advance_one(db, advance) for advance in advances]

    def _advance_one(self, db: sqlite3.Connection, step: Advance) -> bool:
        changed = db.execute(
            "UPDATE sessions SET inputs = ?, events = ?, ended = ?, state = ?, touched = ?"
            " WHERE id = ? AND inputs = ? AND events = ?",
            (
                *(step.inputs, step.events_before + len(step.events), step.ended, step.state, step.touched),
                *(step.session, step.inputs_before, step.events_before),
            ),
        )
        if changed.rowcount == 0:
            return False
        self._add_events(db, step.session, step.events_before, step.events)
        return True

    def events(self, session: str, after: int, most: int) -> list[str]:
        query = "SELECT event FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
        with self._lock:
            return [event for (event,) in self._db.execute(query, (session, after, most))]

    def forget(self, untouched_since: float) -> int:
        with self._lock, self._db_transaction() as db:
            old = "SELECT id FROM sessions WHERE touched < ?"
            db.execute(f"DELETE FROM events WHERE session IN ({old})", (untouched_since,))
            return db.execute("DELETE FROM sessions WHERE touched < ?", (untouched_since,)).rowcount

    def close(self) -> None:
        with self._lock, closing(self._db):
            pass

    def _add_events(self, db: sqlite3.Connection, session: str, before: int, events: Sequence[str]) -> None:
        rows = ((session, before + offset, event) for offset, event in enumerate(events, start=1))
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)

    def _db_transaction(self) -> _Transaction:
        return _Transaction(self._db)


class _Transaction:
    """All or nothing; the lock for writing is taken at the beginning."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> sqlite3.Connection:
        self._db.execute("BEGIN IMMEDIATE")
        return self._db

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")
