"""The sessions that are in use: they are begun, found, continued and dropped here.

All of it lives on the event loop, so nothing here needs a lock. The worker thread reports with `call_soon_threadsafe`.
A connection never waits for another: each remembers how far it has read, and takes the next events when it can.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Sequence

from turia.server.access import hash_secret, new_secret
from turia.server.cluster import Cluster, Member, totals
from turia.server.limits import Limits
from turia.server.live import Follower, Live
from turia.server.messages import MAX_SEQ, EndOfStream, ProtocolError, Refusal, Role, SettingsChange
from turia.server.metrics import Metrics
from turia.server.session import Input, Session, Translating, Translators, any_stream
from turia.server.store import Saved, Store, StoreError
from turia.server.worker import Done, Failed, Task, Worker

MOST_FAILURES = 3
SWEEP_SECONDS = 5.0
GOES_ON_ELSEWHERE = "the session goes on in another connection"
log = logging.getLogger("turia.server")


class RefusedError(Exception):
    """A request that cannot be served now."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Hub:
    """Begins, finds, continues and drops sessions."""

    def __init__(
        self, translators: Translators, store: Store, limits: Limits, metrics: Metrics, cluster: Cluster | None = None
    ) -> None:
        self.translators, self.store, self.limits, self.metrics = translators, store, limits, metrics
        self.cluster = cluster
        """The other servers of the store, if it is shared."""
        self.name = new_secret()[:12]
        """By which the others know this server."""
        self.ready = self.draining = False
        self.sockets = 0
        """Open connections, those that have not said hello among them."""
        self._lives: dict[str, Live] = {}
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(store, self._report_from_worker)
        self._drained = asyncio.Event()

    # --- the server's life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Warms the models and begins to work."""
        for translator in self.translators.values():
            await asyncio.to_thread(_warm, translator)
        self._worker.start()
        self.ready = True

    async def sweep(self) -> None:
        """Drops what nobody uses, for as long as the server lives."""
        forgotten = -float("inf")
        while True:
            now = time.monotonic()
            if now - forgotten > 3600:
                forgotten = now
                try:
                    count = await asyncio.to_thread(self.store.forget, time.time() - self.limits.keep)
                except StoreError:
                    log.warning("the store does not answer; old sessions stay")
                else:
                    log.info("%d old sessions deleted", count)
            for session, live in list(self._lives.items()):
                if not live.followers and not live.holds_place(now) and live.received == live.inputs:
                    del self._lives[session]
            self._count()
            await asyncio.sleep(SWEEP_SECONDS)

    async def drain(self) -> None:
        """Takes nothing more, finishes what was taken, and sees everybody off."""
        self.ready, self.draining = False, True
        for live in self._lives.values():
            live.wake_all()
        if any(live.followers for live in self._lives.values()):
            try:
                await asyncio.wait_for(self._drained.wait(), self.limits.drain)
            except TimeoutError:
                log.warning("some connections did not end in time")

    async def stop(self) -> None:
        await asyncio.to_thread(self._worker.stop)
        self.store.close()

    # --- sessions -------------------------------------------------------------------------------------------------

    async def create(self, owner: str, model: str, k: int, punctuation: bool) -> tuple[str, str]:
        """A new session's id and secret."""
        if self.cluster is None:
            self._refuse_if_full(owner)
        else:
            await self._refuse_if_all_are_full(self.cluster, owner)
        session, event = Session.begin(self.translators, model, k, punctuation)
        name, secret, now = new_secret()[:22], new_secret(), time.time()
        saved = Saved(name, owner, hash_secret(secret), now, now, 0, 1, False, session.state())
        # The place is taken before anything is awaited: two requests cannot get the last one.
        live = self._lives[name] = Live(saved, time.monotonic() + self.limits.grace)
        if self.cluster is None:
            live.task = Task(name, session, saved.began, 0, 1)
        else:
            # The server that gets the speaker's socket has the place; here it is then let go.
            live.awaited = True
        try:
            await asyncio.to_thread(self.store.create, saved, [event])
        except BaseException:
            self._lives.pop(name, None)
            raise
        self._count()
        return name, secret

    async def issue_ticket(self, session: str, role: Role) -> str:
        turn = await self.next_turn(session) if role == "speaker" else 0
        return await asyncio.to_thread(self.store.issue_ticket, f"{role} {turn} {session}")

    async def use_ticket(self, ticket: str) -> tuple[str, Role, int] | None:
        """Session, role and turn that the ticket stands for."""
        value = await asyncio.to_thread(self.store.use_ticket, ticket)
        if value is None:
            return None
        role, turn, session = value.split(" ", 2)
        return session, "speaker" if role == "speaker" else "viewer", int(turn)

    async def next_turn(self, session: str) -> int:
        """For a speaker who is about to connect."""
        return await asyncio.to_thread(self.store.next_turn, session)

    async def find(self, session: str) -> Live | None:
        """A session in memory or in the store."""
        if session not in self._lives:
            saved = await asyncio.to_thread(self.store.load, session)
            if saved is None:
                return None
            # Somebody else may have asked for it in the meantime.
            self._lives.setdefault(session, Live(saved, time.monotonic()))
        return self._lives[session]

    async def join(self, live: Live, role: Role, turn: int = 0) -> Follower:
        """A new connection to a session. The newest turn has the word: the old connection may be a dead one."""
        follower = Follower(role)
        if role == "speaker":
            if turn < live.turn:
                raise ProtocolError("replaced", GOES_ON_ELSEWHERE)
            if not live.ended and (live.awaited or not live.holds_place(time.monotonic())):
                self._refuse_if_full(live.saved.owner)
            live.awaited = False
            if live.speaker is not None:
                live.speaker.refuse(Refusal("replaced", GOES_ON_ELSEWHERE))
            live.speaker, live.turn = follower, turn
        # From here on the session stays in memory.
        live.followers.add(follower)
        self._count()
        if role == "speaker":
            try:
                await self._load(live, turn)
            except BaseException:
                self.leave(live, follower)
                raise
            if live.inputs:
                self.metrics.resumes.inc()
        return follower

    def leave(self, live: Live, follower: Follower) -> None:
        live.followers.discard(follower)
        if live.speaker is follower:
            live.speaker = None
            live.held_until = time.monotonic() + self.limits.grace
        if self.draining and not any(other.followers for other in self._lives.values()):
            self._drained.set()
        self._count()

    def take(self, live: Live, inputs: Sequence[Input]) -> None:
        """Inputs of the speaker. What came before is left out; a gap is refused."""
        if inputs[0].seq > live.received + 1:
            raise ProtocolError("gap", f"input {inputs[0].seq} came after {live.received}; send from there")
        new = [item for item in inputs if item.seq > live.received]
        if not new:
            return
        if live.ended or live.received >= live.end:
            raise ProtocolError("ended", "the session has ended; begin a new one")
        assert live.task is not None
        for item in new:
            if isinstance(item, SettingsChange) and item.model is not None:
                # Tried here, where it can be refused: the worker could only fail.
                Session.begin(self.translators, item.model, 1, live.task.session.punctuation)
        if new[-1].seq - live.inputs > self.limits.unacknowledged:
            most = self.limits.unacknowledged
            raise ProtocolError("queue", f"more than {most} inputs are not yet acknowledged; wait for acks")
        live.received = new[-1].seq
        live.end = live.received if isinstance(new[-1], EndOfStream) else MAX_SEQ
        live.arrivals.append((live.received, time.monotonic()))
        self._worker.submit(live.task, new)

    async def events_after(self, live: Live, after: int, most: int) -> tuple[int, list[str]]:
        """Events for a follower that has those up to `after`, and the number of the first."""
        recent = live.recent_after(after)
        if recent is not None:
            return after + 1, recent[:most]
        return await asyncio.to_thread(self.store.events, live.saved.id, after, most)

    async def settings_in_force(self, live: Live) -> str | None:
        """The event that tells the settings of now, for whoever comes when the event itself is not kept any more."""
        saved = await asyncio.to_thread(self.store.load, live.saved.id)
        if saved is None:
            return None
        try:
            return (await asyncio.to_thread(Session.restore, self.translators, saved.state)).settings_event()
        except ProtocolError:
            # Its model is not here. One can follow all the same.
            return None

    async def _load(self, live: Live, turn: int) -> None:
        """The session's stream, from the store if it is not in memory, or if others may have claimed it there."""
        async with live.loading:
            if live.ended or (live.task is not None and self.cluster is None):
                return
            live.drop_task()
            saved = await asyncio.to_thread(self.store.claim, live.saved.id, turn)
            if saved is None:
                raise ProtocolError("session", "the session is not known any more")
            if saved.token != turn:
                raise ProtocolError("replaced", GOES_ON_ELSEWHERE)
            session = await asyncio.to_thread(Session.restore, self.translators, saved.state)
            live.reset(saved)
            live.task = Task(saved.id, session, saved.began, saved.inputs, saved.events, saved.token)
            live.wake_all()

    def let_go(self, live: Live) -> None:
        """Another server has claimed the session: its speaker and its place are there."""
        live.drop_task()
        if live.loading.locked():
            # The speaker has come back meanwhile, and is about to claim it again.
            return
        if live.speaker is not None:
            live.speaker.refuse(Refusal("replaced", GOES_ON_ELSEWHERE))
            live.speaker = None
        live.held_until = time.monotonic()
        self._count()

    # --- reports --------------------------------------------------------------------------------------------------

    def _report_from_worker(self, report: Done | Failed) -> None:
        self._loop.call_soon_threadsafe(self._take_report, report)

    def _take_report(self, report: Done | Failed) -> None:
        live = self._lives.get(report.task.id)
        if live is None or live.task is not report.task:
            return
        if isinstance(report, Failed):
            self._take_failure(live, report)
            return
        live.failures = 0
        live.inputs, live.ended = report.inputs, report.ended
        live.add_events(report.events)
        self._measure(live, report.events)
        live.wake_all()

    def _take_failure(self, live: Live, report: Failed) -> None:
        """The speaker is to come back and send again what was not acknowledged; but not for ever."""
        self.metrics.refusals.labels(report.cause).inc()
        if report.cause == "moved":
            self.let_go(live)
            return
        live.drop_task()
        refusal = Refusal("store", "the store of sessions does not answer; what was acknowledged is safe", retry=True)
        if report.cause == "failed":
            live.failures += 1
            retry = live.failures < MOST_FAILURES
            refusal = Refusal("failed", "the translation failed; what was acknowledged is safe", retry)
        if live.speaker is not None:
            live.speaker.refuse(refusal)

    def _measure(self, live: Live, events: Sequence[str]) -> None:
        now = time.monotonic()
        while live.arrivals and live.arrivals[0][0] <= live.inputs:
            self.metrics.delay.observe(now - live.arrivals.popleft()[1])
        for event in map(json.loads, events):
            if event["type"] == "source":
                self.metrics.words_in.inc()
            elif event["type"] == "write":
                self.metrics.words_out.inc()
                self.metrics.lag.observe(max(0, event["read"] - event["index"] - 1))

    # --- places ---------------------------------------------------------------------------------------------------

    def _refuse_if_full(self, owner: str) -> None:
        """Past its capacity the server refuses at once, so that those who are in keep their pace."""
        holding = self._holding(awaited=False)
        if not self.ready:
            code, message = "not-ready", "the server is starting or stopping"
        elif len(holding) >= self.limits.streams:
            code, message = "capacity", f"all {self.limits.streams} streams are in use"
        elif sum(live.saved.owner == owner for live in holding) >= self.limits.streams_a_key:
            code, message = "key-capacity", f"all {self.limits.streams_a_key} streams of this key are in use"
        else:
            return
        self.metrics.refusals.labels(code).inc()
        raise RefusedError(code, message)

    async def _refuse_if_all_are_full(self, cluster: Cluster, owner: str) -> None:
        """As `_refuse_if_full`, for all servers together: this one as it stands, the others as a second ago.

        Sessions that were begun here and have no speaker yet are counted apart. Their speakers may be at another server
        already, and would count twice until that is known; but nobody may begin more of them than all servers hold.
        """
        others = [member for member in await asyncio.to_thread(cluster.members) if member.name != self.name]
        together = totals([*others, self.member()])
        waiting = [live.saved.owner for live in self._holding(awaited=True)]
        if not together.members:
            code, message = "not-ready", "the server is starting or stopping"
        elif together.full or len(waiting) >= together.capacity:
            code, message = "capacity", f"all {together.capacity} streams are in use"
        elif max(together.owners[owner], waiting.count(owner)) >= self.limits.streams_a_key * together.members:
            code, message = "key-capacity", "all streams of this key are in use"
        else:
            return
        self.metrics.refusals.labels(code).inc()
        raise RefusedError(code, message)

    def _holding(self, awaited: bool) -> list[Live]:
        """Sessions that have a place here, or that are awaited here or at another server."""
        now = time.monotonic()
        return [live for live in self._lives.values() if live.holds_place(now) and live.awaited == awaited]

    def lives(self) -> list[Live]:
        return list(self._lives.values())

    def member(self) -> Member:
        """This server, for the others."""
        owners = Counter(live.saved.owner for live in self._holding(awaited=False))
        capacity = self.limits.streams
        return Member(self.name, self.ready, sum(owners.values()), capacity, self._viewers(), dict(owners))

    def _viewers(self) -> int:
        return sum(follower.role == "viewer" for live in self._lives.values() for follower in live.followers)

    def _count(self) -> None:
        now = time.monotonic()
        self.metrics.streams.set(sum(live.holds_place(now) for live in self._lives.values()))
        self.metrics.viewers.set(self._viewers())


def _warm(translator: Translating) -> None:
    """The first words of a model are slow: said before anybody waits for them."""
    stream = any_stream(translator, k=1)
    for word in ("eins", "zwei", "drei"):
        stream.push(word)
    stream.flush()
