"""The sessions that are in use: they are begun, found, continued and dropped here.

All of it lives on the event loop, so nothing here needs a lock. The worker thread reports with `call_soon_threadsafe`.
A connection never waits for another: each remembers how far it has read, and takes the next events when it can.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from turia.protocol.client_messages import PartialWords
from turia.protocol.events import EVENTS
from turia.protocol.server_messages import Refusal
from turia.protocol.values import ProtocolError, Role
from turia.schema import JsonObject
from turia.server.access import hash_secret, new_secret
from turia.server.admission import Admission, RefusedError
from turia.server.captions import Captions, Input, NumberedInput, SilenceNoticed, Tail, change_in
from turia.server.choices import StreamChoice, Translators, check_change
from turia.server.chores import warm, when_idle
from turia.server.clocks import Clocks
from turia.server.cluster import Cluster
from turia.server.fanout import Fanout, follower_id, is_follower, target_of, targets_of
from turia.server.follower_feed import FollowerInput
from turia.server.limits import (
    LARGE_MESSAGE,
    LARGE_PER_SECOND,
    LARGE_REQUEST,
    STEERED_PER_SECOND,
    Limits,
    Rates,
    Strangers,
)
from turia.server.logs import alias
from turia.server.metrics import Metrics
from turia.server.occupancy import Occupancy
from turia.server.session import DELETED, PAST_QUOTA, REPLACED, REVOKED, ActiveSession, EventReader
from turia.server.sources import SharedSources
from turia.server.store_health import StoreHealth
from turia.server.stores.base import DamagedError, Store, StoredSession, StoreError
from turia.server.worker import Done, Failed, Task, Worker

T = TypeVar("T")
MOST_FAILURES = 3
SWEEP_SECONDS = 5.0
FORGET_SECONDS = 3600.0
START_SECONDS = 20.0
"""That a session waits for models that are being loaded; then it is refused, and may come again."""
Preparation = Callable[[], int]
"""What is left to do with the models before streams are taken. Gives how many the machine holds."""
log = logging.getLogger("turia.server")


class SessionManager:
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
        self.started = asyncio.Event()
        """Set when the models are ready. Pages are answered before; sessions wait for it."""
        self.stopping = asyncio.Event()
        """Set when the server begins to drain: nobody is to wait for long any more."""
        self.health = StoreHealth(store)
        self.hellos = Strangers(limits.strangers)
        self._large = Rates(LARGE_PER_SECOND, limits.large)
        self._steered = Rates(STEERED_PER_SECOND, limits.steered)
        self.sockets = 0
        """Open connections, those that have not said hello among them."""
        self.fanout = Fanout(self)
        self.occupancy = Occupancy(self)
        self._sources = SharedSources()
        self._sessions: dict[str, ActiveSession] = {}
        self._clocks = Clocks(time.time(), time.monotonic())
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(store, self._report_from_worker)
        self._drained = asyncio.Event()

    @property
    def takes_streams(self) -> bool:
        """Whether this server takes streams now: for a load balancer, and others who choose a server."""
        return self.ready and self.health.answers

    # --- the server's life ----------------------------------------------------------------------------------------

    async def start(self, prepare: Preparation | None = None) -> None:
        """Warms the models and begins to work. Pages may be answered meanwhile."""
        if prepare is not None:
            streams = await asyncio.to_thread(prepare)
            self.limits = replace(self.limits, streams=streams, streams_per_key=streams)
        for translator in self.translators.values():
            await asyncio.to_thread(warm, translator)
        self._worker.start()
        self.metrics.capacity.set(self.limits.streams)
        self.ready = not self.draining
        self.started.set()
        log.info("ready", extra={"models": ",".join(self.translators), "streams": self.limits.streams})

    async def _wait_for_models(self) -> None:
        # Where they are ready, nobody else may run in between.
        if not self.started.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.started.wait(), START_SECONDS)

    async def do_when_idle(self, work: Callable[[], T]) -> T:
        """The result of short work with the models, which is done when no session waits."""
        return await when_idle(self._worker, self._loop, work)

    def hold(self, streams: int) -> None:
        """Sets how many streams are taken from now on. Those that are open go on."""
        if streams != self.limits.streams:
            log.info("capacity changes", extra={"streams": streams, "before": self.limits.streams})
        self.limits = replace(self.limits, streams=streams, streams_per_key=streams)
        self.metrics.capacity.set(streams)

    async def sweep(self) -> None:
        """Drops what nobody uses, for as long as the server lives."""
        forgotten = -float("inf")
        while True:
            now = time.monotonic()
            if now - forgotten > min(FORGET_SECONDS, self.limits.keep / 10):
                forgotten = now
                await self._forget_old()
            for session in self.sessions():
                if session.was_left(now):
                    self.take_silence(session)
                if session.is_idle(now):
                    del self._sessions[session.id]
            self.occupancy.count()
            await self.health.check()
            await asyncio.sleep(SWEEP_SECONDS)

    async def _forget_old(self) -> None:
        if self._clocks.jumped(time.time(), time.monotonic()):
            log.warning("the clock has jumped; old sessions stay for now")
            return
        try:
            count = await asyncio.to_thread(self.store.forget, time.time() - self.limits.keep)
        except StoreError:
            log.warning("the store does not answer; old sessions stay")
        else:
            log.log(logging.INFO if count else logging.DEBUG, "old sessions deleted", extra={"count": count})

    async def drain(self) -> None:
        """Takes nothing more, finishes what was taken, and ends all connections."""
        self.ready, self.draining = False, True
        self.stopping.set()
        connections = sum(len(session.readers) for session in self.sessions())
        log.info("draining", extra={"connections": connections, "streams": len(self.occupancy.holding(awaited=False))})
        for session in self.sessions():
            session.wake_all()
        if any(session.readers for session in self.sessions()):
            try:
                await asyncio.wait_for(self._drained.wait(), self.limits.drain)
            except TimeoutError:
                log.warning("some connections did not end in time")

    async def stop(self) -> None:
        if self.started.is_set():
            await asyncio.to_thread(self._worker.stop)
        self.store.close()
        log.info("stopped")

    # --- sessions -------------------------------------------------------------------------------------------------

    def sessions(self) -> list[ActiveSession]:
        """The sessions in memory."""
        return list(self._sessions.values())

    def in_memory(self, session_id: str) -> ActiveSession | None:
        return self._sessions.get(session_id)

    async def create(self, owner: str, choice: StreamChoice, leader: ActiveSession | None = None) -> tuple[str, str]:
        """A new session's id and secret; one that follows a `leader` has the leader's."""
        await self._wait_for_models()
        if self.cluster is None:
            self.occupancy.refuse_if_full(owner)
        else:
            await self.occupancy.refuse_if_all_are_full(self.cluster, owner)
        captions, event = Captions.begin(self.translators, choice)
        session_id, secret, now = new_secret()[:22], new_secret(), time.time()
        began, secret_hash = now, hash_secret(secret)
        if leader is not None:
            session_id = follower_id(leader.id, target_of(captions.model, choice))
            began, secret_hash = leader.began, leader.secret_hash
        captions.share(partial(self._sources.give, session_id))
        stored = StoredSession(session_id, owner, secret_hash, began, now, captions.progress, captions.state())
        # The place is taken before anything is awaited: two requests cannot get the last one.
        held_until = time.monotonic() + self.limits.arrive
        session = self._sessions[session_id] = ActiveSession(stored, held_until, joined=False)
        session.leader = leader
        if self.cluster is None:
            session.task = Task(session_id, captions, stored.began)
        else:
            # The server that gets the speaker's socket has the place; here it is then let go.
            session.awaited = True
        try:
            await self.health.ask(self.store.create, stored, [EVENTS.to_json(event)])
        except BaseException:
            self._sessions.pop(session_id, None)
            raise
        self.occupancy.count()
        log.info("session begins", extra={"session": alias(session_id), "key": owner, "model": choice.model})
        return session_id, secret

    async def issue_ticket(self, session_id: str, role: Role) -> str:
        turn = await self.next_turn(session_id) if role == "speaker" else 0
        return await asyncio.to_thread(self.store.issue_ticket, Admission(session_id, role, turn).to_text())

    async def use_ticket(self, ticket: str) -> Admission | None:
        """What the ticket stands for."""
        value = await asyncio.to_thread(self.store.use_ticket, ticket)
        return None if value is None else Admission.from_text(value)

    async def next_turn(self, session_id: str) -> int:
        """The number of the next connection of a speaker, who is about to connect."""
        return await self.health.ask(self.store.next_turn, session_id)

    async def find(self, session_id: str) -> ActiveSession | None:
        """A session in memory or in the store."""
        if session_id not in self._sessions:
            stored = await asyncio.to_thread(self.store.load, session_id)
            if stored is None:
                return None
            # Somebody else may have asked for it in the meantime.
            found = self._sessions.setdefault(session_id, ActiveSession(stored, time.monotonic()))
            if is_follower(session_id) and not stored.progress.ended:
                self.fanout.finish_later(found)
        return self._sessions[session_id]

    async def join(self, session: ActiveSession, role: Role, turn: int = 0) -> EventReader:
        """A new connection to a session."""
        reader = EventReader(role)
        if role == "speaker":
            await self._wait_for_models()
            if is_follower(session.id):
                raise ProtocolError("role", "this session gets its words from another one; speak there")
            if turn < session.turn:
                raise ProtocolError(REPLACED.code, REPLACED.message)
            needs_place = not session.joined or not session.holds_place(time.monotonic())
            if needs_place and not session.progress.ended:
                self.occupancy.refuse_if_full(session.owner, joining=True, places=1 + len(session.also))
            session.begin_speaking(reader, turn)
        # From here on the session stays in memory.
        session.readers.add(reader)
        self.occupancy.count()
        if role == "speaker":
            try:
                await self.claim(session, turn)
                if session.also:
                    await self.fanout.load(session)
            except BaseException:
                self.leave(session, reader)
                raise
            if session.progress.inputs:
                self.metrics.resumes.inc()
                log.info("session resumes", extra=self._described(session))
        return reader

    def leave(self, session: ActiveSession, reader: EventReader) -> None:
        if session.speaker is reader:
            log.info("speaker left", extra=self._described(session) | {"ended": session.progress.ended})
        session.leave(reader, held_until=time.monotonic() + self.limits.grace)
        if self.draining and not any(other.readers for other in self.sessions()):
            self._drained.set()
        self.occupancy.count()

    def take_tail(self, session: ActiveSession, tail: PartialWords) -> None:
        """Takes what a speaker's recogniser may still revise. It is ignored if newer words have come since."""
        if session.task is not None and session.takes_words and tail.after == session.received:
            self._worker.submit(session.task, [Tail(" ".join(tail.words))])

    def take_silence(self, session: ActiveSession) -> None:
        """Takes it that the speaker has stopped, by this server's clock."""
        if session.task is not None and session.takes_words and not self.draining:
            self._worker.submit(session.task, [SilenceNoticed()])

    def pause_of(self, session: ActiveSession) -> float:
        """Seconds of silence that close a sentence; 0 for never."""
        chosen = None if session.task is None else session.task.captions.choice.pause
        return self.limits.pause if chosen is None else chosen

    def take(self, session: ActiveSession, inputs: Sequence[NumberedInput]) -> None:
        """Takes inputs of the speaker; those that were received before are left out."""
        new = session.new_inputs(inputs)
        if not new:
            return
        assert session.task is not None
        chosen = self._settings_after(session.task, new)
        session.receive(new, self.limits.unacknowledged, time.monotonic())
        session.task.chosen = chosen
        self._worker.submit(session.task, new)

    def _settings_after(self, task: Task, inputs: Sequence[Input]) -> StreamChoice:
        """As these inputs leave them. A change is tried here, where it can be refused, and with what those before it
        have left, which the worker may not have done yet."""
        chosen = task.chosen
        for item in inputs:
            change = change_in(item)
            if change is not None and not (isinstance(item, FollowerInput) and chosen.own_latency):
                chosen = check_change(self.translators, chosen, change)
        return chosen

    def seconds_for(self, owner: str, data: str | bytes, large: int = LARGE_MESSAGE) -> float:
        """How long a message of this owner has to wait before it is read, if it is a large one."""
        return self._large.wait(owner, len(data), time.monotonic()) if len(data) > large else 0.0

    def weigh(self, owner: str, data: bytes) -> None:
        """Refuses a large request of an owner who has sent many."""
        if self.seconds_for(owner, data, LARGE_REQUEST):
            self.metrics.refused("rate")
            raise RefusedError("rate", "this key has sent many large requests; wait, then try again")

    def count_steering(self, session: ActiveSession) -> None:
        """Refuses what operators ask of a session faster than people do."""
        if self._steered.wait(session.id, 1, time.monotonic()):
            self.metrics.refused("rate")
            raise RefusedError("rate", "many changes of this session were asked for; wait, then try again")

    def submit(self, task: Task, inputs: Sequence[Input]) -> None:
        """Gives the worker inputs that no speaker has sent."""
        task.chosen = self._settings_after(task, inputs)
        self._worker.submit(task, inputs)

    async def events_after(self, session: ActiveSession, after: int, most: int) -> tuple[int, list[JsonObject]]:
        """Events for a reader that has those up to `after`, and the number of the first."""
        recent = session.recent_after(after)
        if recent is not None:
            return after + 1, recent[:most]
        return await asyncio.to_thread(self.store.events, session.id, after, most)

    async def settings_in_force(self, session: ActiveSession) -> JsonObject | None:
        """The event with the settings of now, for a reader who comes when the event itself is not kept any more."""
        stored = await asyncio.to_thread(self.store.load, session.id)
        if stored is None:
            return None
        try:
            captions = await asyncio.to_thread(Captions.restore, self.translators, stored.state, stored.progress)
        except ProtocolError:
            # Its model is not here. One can follow all the same.
            return None
        return EVENTS.to_json(captions.settings_event())

    async def claim(self, session: ActiveSession, turn: int) -> None:
        """The session's captions, from the store if they are not in memory, or if others may have claimed them."""
        async with session.loading:
            if session.progress.ended or (session.task is not None and self.cluster is None):
                return
            session.drop_task()
            stored = await asyncio.to_thread(self.store.claim, session.id, turn)
            if stored is None:
                raise ProtocolError("session", "the session is not known any more")
            if stored.token != turn:
                raise ProtocolError(REPLACED.code, REPLACED.message)
            captions = await asyncio.to_thread(Captions.restore, self.translators, stored.state, stored.progress)
            captions.share(partial(self._sources.give, session.id))
            session.reset(stored)
            session.task = Task(session.id, captions, stored.began, stored.token)
            session.wake_all()

    async def delete(self, session_id: str) -> None:
        """Deletes the session and all that was said in it, here and in the store."""
        try:
            found = await self.find(session_id)
            names = [session_id] if found is None else [name for _, name in targets_of(self, found)]
        except DamagedError:
            # Its state, which says what follows it, cannot be read.
            names = [session_id, *await asyncio.to_thread(self.store.followers, session_id)]
        for one in names:
            # Before, so that its speaker stops; and after, as somebody may have come back meanwhile.
            self._drop(one)
            await asyncio.to_thread(self.store.delete, one)
            self._drop(one)
            log.info("session deleted", extra={"session": alias(one)})

    def drop(self, session: ActiveSession) -> None:
        """Tells everybody who is connected to the session that the store does not have it any more."""
        session.drop_task()
        for reader in session.readers:
            reader.refuse(DELETED)
        self._sessions.pop(session.id, None)
        self.occupancy.count()

    def _drop(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            self.drop(session)

    def let_go(self, session: ActiveSession) -> None:
        """Forgets a session that another server has claimed."""
        session.let_go(time.monotonic())
        self.occupancy.count()

    def revoke(self, owners: set[str], why: Refusal = REVOKED) -> None:
        """Disconnects the speakers of these owners, whose keys were revoked. Viewers keep what was said."""
        for session in self.sessions():
            if session.owner in owners:
                session.revoke(time.monotonic(), why)

    def hold_to_quota(self, owners: set[str]) -> None:
        """Takes nothing more of these owners, whose sessions take all the room that they may."""
        self.occupancy.past_quota = owners
        self.revoke(owners, PAST_QUOTA)

    # --- reports --------------------------------------------------------------------------------------------------

    def _report_from_worker(self, report: Done | Failed) -> None:
        self._loop.call_soon_threadsafe(self._take_report, report)

    def _take_report(self, report: Done | Failed) -> None:
        session = self._sessions.get(report.task.session_id)
        if session is None or session.task is not report.task:
            return
        if isinstance(report, Failed):
            self._take_failure(session, report)
            return
        self.health.answers = True
        events = [EVENTS.to_json(event) for event in report.events]
        for delay in session.advance(report.progress, events, time.monotonic(), report.tentative):
            self.metrics.delay.observe(delay)
        self.metrics.count_words(report.events, report.lags)
        if session.also:
            self.fanout.feed(session, report, events)
        if report.progress.ended:
            log.info("session ends", extra=self._described(session))

    def _described(self, session: ActiveSession) -> dict[str, str | int | float]:
        """What the log says of a session."""
        at, seconds = session.progress, round(time.time() - session.began, 1)
        return {"session": alias(session.id), "inputs": at.inputs, "events": at.events, "seconds": seconds}

    def _take_failure(self, session: ActiveSession, report: Failed) -> None:
        """The speaker is to reconnect and send again what was not acknowledged, but not for ever."""
        self.metrics.refused(report.cause)
        if report.cause == "moved":
            self.let_go(session)
            return
        session.drop_task()
        refusal = Refusal("store", "the store of sessions does not answer; what was acknowledged is safe", retry=True)
        if report.cause == "damaged":
            refusal = Refusal("damaged", str(DamagedError()))
        self.health.answers = self.health.answers and report.cause == "failed"
        if report.cause == "failed":
            session.failures += 1
            retry = session.failures < MOST_FAILURES
            refusal = Refusal("failed", "the translation failed; what was acknowledged is safe", retry)
        if session.speaker is not None:
            session.speaker.refuse(refusal)
        if session.leader is not None:
            self.fanout.failed(session, report)
