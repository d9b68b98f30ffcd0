"""Who has a place on this server, and who is refused one because there is none left.

How much a speaker takes is in places.py. What all servers of a store hold together is in cluster.py.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Never

from turia.server.admission import RefusedError
from turia.server.cluster import Cluster, Member, totals
from turia.server.places import seconds_to_wait, shortage, shortage_of_all, work_of
from turia.server.session import PAST_QUOTA, ActiveSession

if TYPE_CHECKING:
    from turia.server.sessions import SessionManager


class Occupancy:
    """The places of one server."""

    def __init__(self, manager: SessionManager) -> None:
        self._manager = manager
        self.past_quota: set[str] = set()
        """Owners whose sessions take all the room in the store that they may."""

    def refuse_if_full(self, owner: str, joining: bool = False, places: int = 1) -> None:
        """Past its capacity the server refuses at once, so that those who are in keep their pace.

        A speaker who comes (`joining`) has a place before those of whom there is nothing but a request.
        """
        holding = self.holding(awaited=False)
        if joining:
            holding = [session for session in holding if session.lead.joined]
        if not self._manager.ready:
            self._refuse("not-ready", "the server is starting or stopping")
        if owner in self.past_quota:
            self._refuse(PAST_QUOTA.code, PAST_QUOTA.message)
        if lacking := shortage(holding, owner, self._manager.limits, time.monotonic(), places):
            self._refuse(lacking.code, str(lacking))

    async def refuse_if_all_are_full(self, cluster: Cluster, owner: str) -> None:
        """As `refuse_if_full`, for all servers together: this one as it stands, the others as a second ago."""
        others = [member for member in await asyncio.to_thread(cluster.members) if member.name != self._manager.name]
        together = totals([*others, self.member()])
        waiting = [session.owner for session in self.holding(awaited=True)]
        if lacking := shortage_of_all(together, waiting, owner, self._manager.limits.streams_per_key):
            self._refuse(lacking.code, str(lacking))

    def _refuse(self, code: str, message: str) -> Never:
        self._manager.metrics.refused(code)
        raise RefusedError(code, message)

    def holding(self, awaited: bool) -> list[ActiveSession]:
        """Sessions that have a place here, or that are awaited here or at another server."""
        return [session for session in self._with_place() if session.lead.awaited == awaited]

    def seconds_to_wait(self, session: ActiveSession, words: int) -> float:
        """Before more is read of a speaker who is faster than the others leave room for."""
        now = time.monotonic()
        others = work_of((other for other in self.holding(awaited=False) if other is not session), now)
        return seconds_to_wait(session.pace, words, others, self._manager.limits.streams, now)

    def member(self) -> Member:
        """This server, for the others."""
        holding, manager = self.holding(awaited=False), self._manager
        owners = Counter(session.owner for session in holding)
        work = round(work_of(holding, time.monotonic()), 3)
        return Member(
            manager.name,
            manager.takes_streams,
            len(holding),
            manager.limits.streams,
            self._viewers(),
            dict(owners),
            work,
        )

    def count(self) -> None:
        """Tells the metrics how much of the server is in use."""
        holding, metrics = self._with_place(), self._manager.metrics
        metrics.streams.set(len(holding))
        metrics.work.set(work_of(holding, time.monotonic()))
        metrics.viewers.set(self._viewers())

    def _with_place(self) -> list[ActiveSession]:
        now = time.monotonic()
        return [session for session in self._manager.sessions() if session.holds_place(now)]

    def _viewers(self) -> int:
        return sum(reader.role == "viewer" for session in self._manager.sessions() for reader in session.readers)
