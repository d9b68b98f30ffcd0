"""How much of a server its speakers take. A place is the work of one speaking person. The caller passes the time.

Admission counts work, not streams. Somebody who sends a file at 50 words a second makes the work of twenty people, so
they take twenty places, and nobody new is let in to an overloaded server. Where others are there too, a speaker is
read no faster than they leave room for. Everybody may always speak at twice the pace of people: their words come in
bunches, and nobody who only speaks is ever held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from turia.server.admission import RefusedError
from turia.server.cluster import Totals
from turia.server.limits import Limits

WORDS_PER_SECOND = 2.5
"""Of a person who speaks."""
AVERAGED_SECONDS = 30.0
"""Seconds over which the pace of a speaker is averaged: a bunch of words is no pace."""
LONGEST_WAIT = 10.0
"""Seconds. A connection that is not read for longer could miss the pongs of its client."""


class Pace:
    """Words a second of one speaker. Older words count less and less."""

    def __init__(self) -> None:
        self._rate, self._when = 0.0, 0.0

    def say(self, words: int, now: float) -> None:
        self._rate, self._when = self.rate(now) + words / AVERAGED_SECONDS, now

    def rate(self, now: float) -> float:
        return self._rate * math.exp(min(0.0, self._when - now) / AVERAGED_SECONDS)

    def places(self, now: float) -> float:
        """At least one, also in silence."""
        return max(1.0, self.rate(now) / WORDS_PER_SECOND)


class Holder(Protocol):
    """A session that has a place."""

    @property
    def owner(self) -> str: ...

    @property
    def pace(self) -> Pace: ...


def work_of(holding: Iterable[Holder], now: float) -> float:
    """Places that these sessions take."""
    return math.fsum(session.pace.places(now) for session in holding)


def shortage(holding: Sequence[Holder], owner: str, limits: Limits, now: float, places: int = 1) -> RefusedError | None:
    """Why this owner cannot have so many more `places`; None if they can."""
    more = places - 1
    if work_of(holding, now) + more >= limits.streams:
        return RefusedError("capacity", all_taken(len(holding) + more, limits.streams))
    if work_of((session for session in holding if session.owner == owner), now) + more >= limits.streams_per_key:
        return RefusedError("key-capacity", all_taken_of_key(limits.streams_per_key))
    return None


def shortage_of_all(together: Totals, waiting: Sequence[str], owner: str, streams_per_key: int) -> RefusedError | None:
    """As `shortage`, for all servers of a store.

    `waiting` are the owners of sessions that were begun here and have no speaker yet. They are counted apart: their
    speakers may be at another server already, and would count twice until that is known; but nobody may begin more of
    them than all servers hold.
    """
    if not together.members:
        return RefusedError("not-ready", "the server is starting or stopping")
    if together.full or len(waiting) >= together.capacity:
        return RefusedError("capacity", all_taken(together.streams + len(waiting), together.capacity))
    if max(together.owners[owner], waiting.count(owner)) >= streams_per_key * together.members:
        return RefusedError("key-capacity", "all streams of this key are in use")
    return None


def all_taken(open_streams: int, capacity: int) -> str:
    """The message to somebody for whom there is no place."""
    if open_streams >= capacity:
        return "the only stream is in use" if capacity == 1 else f"all {capacity} streams are in use"
    if open_streams == 1:
        return f"one fast speaker uses all {capacity} streams"
    return f"{open_streams} fast speakers use all {capacity} streams"


def all_taken_of_key(most: int) -> str:
    """The same to the holder of a key."""
    return "the only stream of this key is in use" if most == 1 else f"all {most} streams of this key are in use"


def seconds_to_wait(pace: Pace, words: int, others: float, capacity: int, now: float) -> float:
    """Seconds to wait before more is read of a speaker who has just said these words. `others` take so many places."""
    room = WORDS_PER_SECOND * max(2.0, capacity - others)
    if not others or pace.rate(now) <= room:
        return 0.0
    return min(LONGEST_WAIT, words / room)
