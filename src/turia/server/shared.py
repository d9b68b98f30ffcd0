"""A server among others: it says that it is there, hands in what it counted, and follows sessions that others own.

A follower here of a session that is translated elsewhere gets its events from the store, a quarter of a second later
at most. A session that another server has claimed is let go.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from turia.server.cluster import Cluster
from turia.server.hub import Hub
from turia.server.live import Live
from turia.server.store import Standing, StoreError

FOLLOW_SECONDS = 0.25
TURNS_AN_ANNOUNCEMENT = 4
EVENTS_A_TURN = 1000
log = logging.getLogger("turia.server")


class Shared:
    """The part of a server that looks at the others."""

    def __init__(self, hub: Hub, cluster: Cluster) -> None:
        self._hub, self._cluster = hub, cluster
        self._handed_in: dict[str, float] = {}
        self._counts: dict[str, float] = {}
        """What is being handed in, under `_number`, until the store has taken it."""
        self._number = 0

    async def run(self) -> None:
        """For as long as the server lives."""
        turn = 0
        while True:
            try:
                announces = turn % TURNS_AN_ANNOUNCEMENT == 0
                if announces:
                    await self.announce()
                await self.follow(with_own=announces)
            except StoreError:
                log.warning("the store does not answer; sessions of other servers stand still here")
            turn += 1
            await asyncio.sleep(FOLLOW_SECONDS)

    async def announce(self) -> None:
        await asyncio.to_thread(self._cluster.announce, self._hub.member())
        if self._counts == self._handed_in:
            self._counts, self._number = self._hub.metrics.counts(), self._number + 1
        differences = {name: value - self._handed_in.get(name, 0.0) for name, value in self._counts.items()}
        changed = {name: value for name, value in differences.items() if value}
        if changed:
            # Without an answer the same is handed in again, which adds nothing if it was taken.
            await asyncio.to_thread(self._cluster.count, self._hub.name, self._number, changed)
        self._handed_in = self._counts

    async def leave(self) -> None:
        with suppress(StoreError):
            # What waited to be handed in again comes first, then the rest.
            await self.announce()
            await self.announce()
            await asyncio.to_thread(self._cluster.leave, self._hub.name)

    async def follow(self, with_own: bool) -> None:
        """News of sessions that others own; `with_own`: also whether those in memory are still ours."""
        now = time.monotonic()
        lives = [
            live
            for live in self._hub.lives()
            # A speaker who lost the connection may have come back elsewhere: the place is then held for nobody.
            if (live.followers and live.task is None) or (with_own and (live.followers or live.holds_place(now)))
        ]
        standings = await asyncio.to_thread(self._hub.store.standings, [live.saved.id for live in lives])
        for live, standing in zip(lives, standings, strict=True):
            moved = standing is not None and standing.token > live.saved.token
            if standing is None or (live.task is not None and not moved):
                continue
            if moved and (live.task is not None or live.holds_place(now)):
                self._hub.let_go(live)
            if (standing.inputs, standing.events, standing.ended) != (live.inputs, live.events, live.ended):
                await self._catch_up(live, standing)

    async def _catch_up(self, live: Live, standing: Standing) -> None:
        before = live.events
        first, events = await asyncio.to_thread(self._hub.store.events, live.saved.id, before, EVENTS_A_TURN)
        if live.task is not None or live.loading.locked() or live.events != before:
            # It was claimed here meanwhile.
            return
        complete = first + len(events) > standing.events
        live.follow(first, events, standing.inputs, standing.ended and complete)
