"""Where sessions are kept: what a store promises. `sqlite` keeps them on one machine, `redis` for many.

**Promise.** When `advance` returns, what it was given survives the death of this process at any moment (`kill -9`), and
of the machine: progress, events and state together, or none of them.

**One owner.** Every connection of a speaker has a turn, a number that the store gives with its ticket. `claim` makes
the turn the session's token, unless a later turn has it, and an update with another token is not taken: the speaker's
newest connection owns the session. A server that was cut off, or slow, or replaced cannot write into it any more, and
a delayed claim never overrides a newer one. There is no lease that has to run out first, because the speaker's secret
decides who may claim.

**The transcript stays.** All events of a session are there while the session is; but where many servers share one
memory, only the newest `JOURNAL` or so. The state of a stream does not grow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from turia.errors import InputError, ResourceError
from turia.schema import JsonObject, from_dict, read_json
from turia.server.progress import Progress

EVENTS_AT_ONCE = 5000
"""Events that a reader of all of them asks for: a session may have been going on for days."""
JOURNAL = 100_000
"""Events of a session that Redis keeps by default: about five hours of speech."""


class StoreError(ResourceError):
    """The store does not answer. Nothing that was acknowledged is lost; try again."""


class DamagedError(StoreError):
    """What the store has is not what was stored. It will not get better: nobody is to try again."""

    def __init__(self) -> None:
        # Not even a part of it: it may hold what was said.
        super().__init__("what is stored of the session is damaged; begin a new one")


@dataclass(frozen=True)
class StoredSession:
    """A session as it is stored."""

    id: str
    owner: str
    """Whose key began it; never the key itself."""
    secret_hash: str
    began: float
    """Seconds since 1970, as is `touched`."""
    touched: float
    progress: Progress
    """What `state` stands for."""
    state: str
    token: int = 1
    """The turn of the connection that owns the session."""


@dataclass(frozen=True)
class SessionUpdate:
    """One step of a session: from one progress to the next, with the events and the state after it."""

    session_id: str
    token: int
    """The owner's."""
    before: Progress
    after: Progress
    events: tuple[JsonObject, ...]
    state: str
    touched: float

    def __post_init__(self) -> None:
        assert self.after.events == self.before.events + len(self.events)


@dataclass(frozen=True)
class SessionOwner:
    """Who may delete a session."""

    owner: str
    secret_hash: str


@dataclass(frozen=True)
class SessionStatus:
    """How far a session is, and whose it is."""

    progress: Progress
    token: int


@dataclass(frozen=True)
class StoredRoom:
    """A room as it is stored (turia.server.rooms)."""

    name: str
    title: str
    owner: str = ""
    """Whose key made it; empty for those of the command line, which every key may use."""
    session: str | None = None
    """The session that runs in it, or ran last."""
    turn: int = 0
    """Grows with each change."""


def read_room(text: str) -> StoredRoom:
    """A room from its text."""
    try:
        return from_dict(StoredRoom, read_json(text), pass_over=True)
    except InputError:
        raise DamagedError from None


def read_events(texts: Iterable[str]) -> list[JsonObject]:
    """Events from their texts, as they were written, by whatever release."""
    try:
        return [json.loads(text) for text in texts]
    except ValueError:
        raise DamagedError from None


class Store(Protocol):
    """Keeps sessions. Every method may be called from any thread, and raises StoreError where there is no answer."""

    def create(self, session: StoredSession, events: Sequence[JsonObject]) -> None: ...

    def load(self, session_id: str) -> StoredSession | None: ...

    def whose(self, session_id: str) -> SessionOwner | None:
        """The owner of a damaged session, as far as that can be read. A secret that fits what is stored is proof."""
        ...

    def followers(self, session_id: str) -> list[str]:
        """Names of the sessions that follow this one, NAME.TARGET, also where its state cannot be read."""
        ...

    def next_turn(self, session_id: str) -> int:
        """A turn that comes after all others of the session; 0 if there is no such session."""
        ...

    def claim(self, session_id: str, turn: int) -> StoredSession | None:
        """Claims the session for a turn, and gives it as it stands. If its token is another, a later turn has it."""
        ...

    def advance(self, updates: Sequence[SessionUpdate]) -> list[bool]:
        """Stores updates. False for a session that another server owns, or that is not where its update begins.

        An update that was taken before, and whose answer was lost, is taken again without harm.
        """
        ...

    def events(self, session_id: str, after: int, most: int) -> tuple[int, list[JsonObject]]:
        """At most `most` events that follow number `after`, and the number of the first: older ones may be gone."""
        ...

    def statuses(self, session_ids: Sequence[str]) -> list[SessionStatus | None]: ...

    def issue_ticket(self, value: str) -> str:
        """A ticket that stands for `value`, once and for a short time."""
        ...

    def use_ticket(self, ticket: str) -> str | None:
        """What the ticket stands for; None if it was used before, is too old or was never issued."""
        ...

    def forget(self, untouched_since: float) -> int:
        """Deletes sessions that nobody has used since then; how many."""
        ...

    def delete(self, session_id: str) -> bool:
        """Deletes a session with all its events; False if there is none."""
        ...

    def rooms(self) -> list[StoredRoom]: ...

    def put_room(self, room: StoredRoom) -> None:
        """Stores a room, in place of the one of that name if there is one. Rooms are not forgotten."""
        ...

    def delete_room(self, name: str) -> bool:
        """Deletes a room; False if there is none."""
        ...

    def check(self, write: bool) -> None:
        """Raises StoreError if what is stored now would be lost, or, after a try (`write`), is not taken."""
        ...

    def close(self) -> None: ...
