"""Many servers on one store: who else is there, and what all have counted. Pure, but for the interface.

A server is a *member* while it says so every second. What it counts goes to the store as differences, so that sums
never go back when a server dies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from turia.server.requests import Requests


@dataclass(frozen=True)
class Member:
    """A server, as it describes itself."""

    name: str
    ready: bool
    streams: int
    """Streams that hold a place."""
    capacity: int
    """Streams that it takes."""
    viewers: int
    owners: dict[str, int]
    """Streams of each key's owner."""
    work: float = 0.0
    """Places that its streams take (`turia.server.places`); releases before 0.2 do not say it."""


class Cluster(Protocol):
    """What servers know of each other. Any thread may call its methods; they raise StoreError without an answer."""

    @property
    def requests(self) -> Requests:
        """What servers ask of each other."""
        ...

    def announce(self, member: Member) -> None:
        """The member is there, for a few seconds."""
        ...

    def leave(self, name: str) -> None: ...

    def members(self) -> list[Member]: ...

    def count(self, name: str, number: int, differences: Mapping[str, float]) -> None:
        """Adds to the sums what the member counted; what it hands in again under the same number is added once."""
        ...

    def counted(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class Totals:
    """All ready members together."""

    members: int
    streams: int
    capacity: int
    viewers: int
    owners: Counter[str]
    work: float = 0.0

    @property
    def full(self) -> bool:
        return max(self.streams, self.work) >= self.capacity


def totals(members: Sequence[Member]) -> Totals:
    """A member that is not ready takes no streams: what it still holds is not counted against the others."""
    ready = [member for member in members if member.ready]
    owners: Counter[str] = Counter()
    for member in ready:
        owners.update(member.owners)
    return Totals(
        len(ready),
        sum(member.streams for member in ready),
        sum(member.capacity for member in ready),
        sum(member.viewers for member in members),
        owners,
        sum(max(member.streams, member.work) for member in ready),
    )
