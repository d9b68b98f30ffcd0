"""One session in use: who speaks, who follows, how far it is, and its newest events. It lives on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from turia.server.messages import MAX_SEQ, Refusal, Role, ServerMessage
from turia.server.store import Saved
from turia.server.worker import Task

RECENT = 256
"""Events of a session kept in memory; whoever is further behind reads the store."""


@dataclass(eq=False)
class Follower:
    """One connection's place in a session."""

    role: Role
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    outbox: deque[ServerMessage] = field(default_factory=deque)
    """What is to be said besides events and acknowledgements; never more than a few."""
    refusal: Refusal | None = None
    """Set when the connection is to end."""

    def refuse(self, refusal: Refusal) -> None:
        self.refusal = self.refusal or refusal
        self.wake.set()


class Live:
    """A session in use."""

    def __init__(self, saved: Saved, now: float) -> None:
        self.task: Task | None = None
        self.loading = asyncio.Lock()
        self.failures = 0
        self.speaker: Follower | None = None
        self.turn = saved.token
        """The newest turn of a speaker that came here."""
        self.followers: set[Follower] = set()
        self.held_until = now
        """While nobody speaks, the session keeps its place until then."""
        self.awaited = False
        """Begun here, but its speaker may come to another server: a place among all of them, not yet one of ours."""
        self._recent: deque[str] = deque(maxlen=RECENT)
        self.arrivals: deque[tuple[int, float]] = deque()
        """Number and time of the inputs in the worker's hands."""
        self.reset(saved)

    def reset(self, saved: Saved) -> None:
        """Stands where the store does."""
        self.saved = saved
        self.inputs, self.events, self.ended = saved.inputs, saved.events, saved.ended
        self.received = saved.inputs
        """Number of the last input that was taken; those after `inputs` are in the worker's hands."""
        self.end = MAX_SEQ
        """Number of the end of the stream, once that was taken."""
        self._recent.clear()
        self.arrivals.clear()

    def drop_task(self) -> None:
        """The stream in memory is not to be gone on with: what it had not stored was not taken."""
        self.task, self.received = None, self.inputs
        self.arrivals.clear()

    def holds_place(self, now: float) -> bool:
        return not self.ended and (self.speaker is not None or self.held_until > now)

    def add_events(self, events: Sequence[str]) -> None:
        self._recent.extend(events)
        self.events += len(events)

    def follow(self, first: int, events: Sequence[str], inputs: int, ended: bool) -> None:
        """Another server has gone on with the session; `first` is the number of the first of these events."""
        if first > self.events + 1:
            # What lay between is not kept any more.
            self._recent.clear()
            self.events = first - 1
        self.add_events(events)
        self.inputs = self.received = inputs
        self.ended = ended
        self.wake_all()

    def recent_after(self, after: int) -> list[str] | None:
        """The events after number `after`; None if memory does not hold them all."""
        missing = self.events - after
        return list(self._recent)[-missing:] if 0 < missing <= len(self._recent) else None

    def wake_all(self) -> None:
        for follower in self.followers:
            follower.wake.set()
