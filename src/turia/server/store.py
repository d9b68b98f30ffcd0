"""Where sessions live: what a store promises. `sqlite_store` keeps it on one machine, `redis_store` for many.

**Promise.** When `advance` returns, what it was given survives the death of this process at any moment (`kill -9`), and
of the machine: inputs counted, events and state together, or none of them.

**One owner.** Every connection of a speaker has a turn, a number that the store gives with its ticket. `claim` makes
the turn the session's token, unless a later turn has it, and an advance with another token is not taken: the speaker's
newest connection owns the session. A server that was cut off, or slow, or replaced cannot write into it any more, and
a claim that arrives late, after the speaker has gone on elsewhere, takes nothing away. There is no lease that has to
run out first, because the speaker's secret decides who may claim.

**The transcript stays.** All events of a session are there while the session is; but where many servers share one
memory, only the newest `JOURNAL` or so. The state of a stream does not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turia.errors import ResourceError

EVENTS_AT_ONCE = 5000
"""Events that a reader of all of them asks for: a session may have been going on for days."""
JOURNAL = 100_000
"""Events of a session that Redis keeps, unless told otherwise: about five hours of speech."""


class StoreError(ResourceError):
    """The store does not answer. Nothing that was acknowledged is lost; try again."""


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
    token: int = 1
    """The turn of the connection that owns the session."""


@dataclass(frozen=True)
class Advance:
    """A session goes on: from `inputs_before` to `inputs`, with these events and this state."""

    session: str
    token: int
    """The owner's."""
    inputs_before: int
    inputs: int
    events_before: int
    events: tuple[str, ...]
    ended: bool
    state: str
    touched: float


@dataclass(frozen=True)
class Standing:
    """How far a session is, and whose it is."""

    inputs: int
    events: int
    ended: bool
    token: int


class Store(Protocol):
    """Keeps sessions. Every method may be called from any thread, and raises StoreError where there is no answer."""

    def create(self, saved: Saved, events: Sequence[str]) -> None: ...

    def load(self, session: str) -> Saved | None: ...

    def next_turn(self, session: str) -> int:
        """A turn that comes after all others of the session; 0 if there is no such session."""
        ...

    def claim(self, session: str, turn: int) -> Saved | None:
        """The session as it stands. It is the turn's if its token says so; else a later turn has it."""
        ...

    def advance(self, advances: Sequence[Advance]) -> list[bool]:
        """False for a session that another owns, or that is not where its advance begins.

        An advance that was taken before, and whose answer was lost, is taken again without harm.
        """
        ...

    def events(self, session: str, after: int, most: int) -> tuple[int, list[str]]:
        """At most `most` events that follow number `after`, and the number of the first: older ones may have gone."""
        ...

    def standings(self, sessions: Sequence[str]) -> list[Standing | None]: ...

    def issue_ticket(self, value: str) -> str:
        """A ticket that stands for `value`, once and for a short time."""
        ...

    def use_ticket(self, ticket: str) -> str | None:
        """What the ticket stands for; None if it was used before, is too old or was never issued."""
        ...

    def forget(self, untouched_since: float) -> int:
        """Deletes sessions that nobody has used since then; how many."""
        ...

    def close(self) -> None: ...
