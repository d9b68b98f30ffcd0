"""A server among others: it says that it is there, hands in what it counted, follows sessions that others own, and does
what operators at other servers ask of its own.

A follower here of a session that is translated elsewhere gets its events from the store, a quarter of a second later
at most. A session that another server has claimed is let go.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from turia.protocol.corrections import parse_operator
from turia.protocol.server_messages import Refusal
from turia.server.cluster import Cluster
from turia.server.operator import steer_here
from turia.server.progress import Progress
from turia.server.requests import SteeringRequest, answer_others
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager
from turia.server.stores.base import DamagedError, SessionStatus, StoreError

FOLLOW_SECONDS = 0.25
TURNS_PER_ANNOUNCEMENT = 4
EVENTS_PER_TURN = 1000
log = logging.getLogger("turia.server")


class Shared:
    """The part of a server that looks at the others."""

    def __init__(self, manager: SessionManager, cluster: Cluster) -> None:
        self._manager, self._cluster = manager, cluster
        self._handed_in: dict[str, float] = {}
        self._counts: dict[str, float] = {}
        """What is handed in now, under `_number`, until the store has taken it."""
        self._number = 0

    async def run(self) -> None:
        """For as long as the server lives."""
        turn = 0
        while True:
            try:
                announces = turn % TURNS_PER_ANNOUNCEMENT == 0
                if announces:
                    await self.announce()
                await self.follow(with_own=announces)
                await answer_others(self._cluster.requests, self._manager.name, self._has, self._steer)
            except StoreError:
                log.warning("the store does not answer; sessions of other servers stand still here")
            turn += 1
            await asyncio.sleep(FOLLOW_SECONDS)

    async def announce(self) -> None:
        await asyncio.to_thread(self._cluster.announce, self._manager.occupancy.member())
        if self._counts == self._handed_in:
            self._counts, self._number = self._manager.metrics.counts(), self._number + 1
        differences = {name: value - self._handed_in.get(name, 0.0) for name, value in self._counts.items()}
        changed = {name: value for name, value in differences.items() if value}
        if changed:
            # Without an answer the same is handed in again, which adds nothing if it was taken.
            await asyncio.to_thread(self._cluster.count, self._manager.name, self._number, changed)
        self._handed_in = self._counts

    def _has(self, session_id: str) -> bool:
        session = self._manager.in_memory(session_id)
        return session is not None and session.task is not None

    async def _steer(self, request: SteeringRequest) -> None:
        steer_here(self._manager, self._manager.in_memory(request.session), parse_operator(request.text))

    async def leave(self) -> None:
        with suppress(StoreError):
            # What waited to be handed in again comes first, then the rest.
            await self.announce()
            await self.announce()
            await asyncio.to_thread(self._cluster.leave, self._manager.name)

    async def follow(self, with_own: bool) -> None:
        """News of sessions that others own; `with_own`: also whether those in memory are still ours."""
        now = time.monotonic()
        sessions = [
            session
            for session in self._manager.sessions()
            # A speaker who lost the connection may be at another server: then the place here is held for nobody.
            if (session.readers and session.task is None)
            or (with_own and (session.readers or session.holds_place(now)))
        ]
        statuses = await asyncio.to_thread(self._manager.store.statuses, [session.id for session in sessions])
        for session, status in zip(sessions, statuses, strict=True):
            moved = status is not None and status.token > session.token
            if status is None and session.readers:
                # Somebody was let in, so it was stored: it has been deleted since.
                self._manager.drop(session)
            if status is None or (session.task is not None and not moved):
                continue
            if moved and (session.task is not None or session.holds_place(now)):
                self._manager.let_go(session)
            if status.progress != session.progress:
                await self._catch_up(session, status)

    async def _catch_up(self, session: ActiveSession, status: SessionStatus) -> None:
        before, now = session.progress.events, status.progress
        try:
            first, events = await asyncio.to_thread(self._manager.store.events, session.id, before, EVENTS_PER_TURN)
        except DamagedError as error:
            # The others' sessions go on.
            for reader in session.readers:
                reader.refuse(Refusal("damaged", str(error)))
            return
        if session.task is not None or session.loading.locked() or session.progress.events != before:
            # It was claimed here meanwhile.
            return
        last = first + len(events) - 1
        session.follow(first, events, Progress(now.inputs, last, now.ended and last >= now.events))
