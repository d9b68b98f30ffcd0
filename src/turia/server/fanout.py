"""One speaker, several languages or latencies: sessions that follow another one's words (turia.server.follower_feed).

A session that was begun with `also` or `latencies` leads. For each model and latency there is another session,
NAME.TARGET, which has its own page, overlay, transcripts and place among the streams of the server, as every session.
But nobody speaks in it: whatever the leader has stored is passed on to it, live from the worker's reports, and from the
store where it is behind, as after a restart. All of it lives on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from turia.engine.audience import common_block
from turia.engine.model import Model
from turia.errors import InputError
from turia.policy.table import parse_latency
from turia.protocol.client_messages import NewSession
from turia.protocol.values import ProtocolError
from turia.schema import JsonObject
from turia.server.captions import Tail
from turia.server.choices import StreamChoice, Translators, chosen_stream, policy_keys
from turia.server.follower_feed import FollowerFeed, whole_inputs
from turia.server.logs import alias
from turia.server.session import ActiveSession
from turia.server.stores.base import EVENTS_AT_ONCE, StoreError
from turia.server.worker import Done, Failed, Task

if TYPE_CHECKING:
    from turia.server.sessions import SessionManager

AGAIN_SECONDS = 1.0
"""After a failure, a follower is tried again."""
MOST_FAILURES = 3
log = logging.getLogger("turia.server")


def choices_of(translators: Translators, chosen: NewSession) -> list[StreamChoice]:
    """What a client has chosen: for the session itself, then for each that follows it."""
    choices = [chosen_stream(translators, chosen)]
    for name in chosen.also:
        if name not in translators:
            raise ProtocolError("model", f"no such model in also; this server has {', '.join(translators)}")
        # The terms of one direction are none of another.
        choice = chosen_stream(translators, replace(chosen, model=name, also=(), glossary=None))
        choices.append(replace(choice, follows=True))
    pairs = [translators[choice.model].model.languages for choice in choices if choice.model in translators]
    if len({source for source, _ in pairs}) > 1:
        raise InputError("also: expected models of the same source language as the session's")
    if len({target for _, target in pairs}) < len(pairs):
        raise InputError("also: expected models of different target languages")
    first, *others = [one for choice in choices for one in _at_latencies(translators, choice, chosen.latencies)]
    tags = [target_of(translators[choice.model].model, choice) for choice in others]
    if len(set(tags)) < len(tags):
        # They would be one session, as its name has only the beginning of a number in it.
        raise InputError("latencies: two of them differ only behind their first eight digits, expected others")
    return [replace(first, also=tuple(map(_follower, others))), *others]


def _at_latencies(translators: Translators, choice: StreamChoice, latencies: Sequence[str]) -> list[StreamChoice]:
    """The choice, and the same at further latencies. All of one model share what the encoder computes."""
    if not latencies or choice.model not in translators:
        return [choice]
    policies = [parse_latency(one) for one in latencies]
    if choice.policy in policies:
        raise InputError(f"latencies: {choice.policy} is the latency of the session itself; leave it out")
    first = replace(choice, first_block=common_block(translators[choice.model].model, [choice.policy, *policies]))
    others = [replace(first, policy=policy, target_lag=None, follows=True, own_latency=True) for policy in policies]
    return [first, *others]


def _follower(choice: StreamChoice) -> str:
    """A follower, as the session that leads lists it."""
    return f"{choice.model}@{_latency(choice)}" if choice.own_latency else choice.model


def _latency(choice: StreamChoice) -> str:
    k, policy = policy_keys(choice.policy)
    return policy or f"k={k}"


def target_of(model: Model, choice: StreamChoice) -> str:
    """The language tag of a session's captions: `en`, or `en-x-k8` for English at a latency of its own."""
    return _tag(model.languages[1], _latency(choice) if choice.own_latency else "")


def _tag(language: str, latency: str) -> str:
    """Parts of a tag have at most eight letters and digits. What those behind the x mean is up to us."""
    parts = [part[:8] for part in re.split("[^a-z0-9]+", latency.replace("k=", "k").lower()) if part]
    return "-".join([language, "x", *parts] if parts else [language])


def targets_of(manager: SessionManager, session: ActiveSession) -> list[tuple[str, str]]:
    """Languages that the session's words are translated into, its own first, and the session of each."""
    models = {name: translator.model.languages[1] for name, translator in manager.translators.items()}
    found = [(models.get(session.model, ""), session.id)]
    for listed in session.also:
        name, latency = (listed, "") if listed in models else listed.rpartition("@")[::2]
        if name in models:
            tag = _tag(models[name], latency)
            found.append((tag, follower_id(session.id, tag)))
    return found


def follower_id(leader: str, target: str) -> str:
    """The name of a session that follows another: a dot is in no other name."""
    return f"{leader}.{target}"


def is_follower(session_id: str) -> bool:
    return "." in session_id


@dataclass
class _Following:
    """A follower that is being fed."""

    feed: FollowerFeed
    task: Task


class Fanout:
    """Feeds the followers of a server's sessions."""

    def __init__(self, manager: SessionManager) -> None:
        self._manager = manager
        self._fed: WeakKeyDictionary[ActiveSession, _Following] = WeakKeyDictionary()
        """By the follower: what the worker has of a session is large, and goes with it."""
        self._loading = asyncio.Lock()
        """Held while a follower catches up: two at once would feed it the same words twice."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, owner: str, chosen: NewSession) -> tuple[str, str]:
        """A new session's id and secret; with it those that follow it, or none of them."""
        manager, (first, *others) = self._manager, choices_of(self._manager.translators, chosen)
        session_id, secret = await manager.create(owner, first)
        leader = await manager.find(session_id) if others else None
        if leader is None:
            return session_id, secret
        try:
            for choice in others:
                await manager.create(owner, choice, leader)
            if manager.cluster is None:
                await self.load(leader)
        except BaseException:
            await manager.delete(session_id)
            raise
        return session_id, secret

    async def load(self, leader: ActiveSession) -> None:
        """Brings the followers of a session to where it is, and feeds them from here on."""
        for _, session_id in targets_of(self._manager, leader)[1:]:
            session = await self._manager.find(session_id)
            if session is None or session.progress.ended:
                continue
            session.leader = leader
            try:
                async with self._loading:
                    if not self._is_fed(session) or self._manager.cluster is not None:
                        await self._load_one(leader, session)
            except ProtocolError as error:
                log.warning("a language cannot go on", extra={"session": alias(session_id), "error": error.code})

    async def _load_one(self, leader: ActiveSession, session: ActiveSession) -> None:
        manager = self._manager
        await manager.claim(session, await manager.next_turn(session.id))
        if session.task is None:
            return
        # What the worker has in its hands is not fed twice.
        feed = FollowerFeed(session.task.captions.model.languages[0], session.received)
        for settings in await asyncio.to_thread(self._settings_until, leader.id, feed.at):
            feed.know(settings)
        await self._catch_up(leader, session, _Following(feed, session.task))

    async def _catch_up(self, leader: ActiveSession, session: ActiveSession, following: _Following) -> None:
        """Feeds a follower what the store has of the leader; from then on it gets what the worker reports."""
        manager, feed = self._manager, following.feed
        while feed.at < leader.progress.events and session.task is following.task:
            first, events = await asyncio.to_thread(manager.store.events, leader.id, feed.at, EVENTS_AT_ONCE)
            if not events:
                break
            feed.at = first - 1
            more = first + len(events) - 1 < leader.progress.events
            self._submit(session, following, whole_inputs(events) if more else events)
        if session.task is following.task:
            self._fed[session] = following

    def _settings_until(self, leader: str, until: int) -> list[JsonObject]:
        """The leader's settings up to this event. In a thread: there may be many events."""
        found, at = [], 0
        while at < until:
            first, events = self._manager.store.events(leader, at, EVENTS_AT_ONCE)
            if not events:
                break
            known = events[: until - first + 1]
            found += [event for event in known if event.get("type") == "settings"]
            at = first + len(events) - 1
        return found

    def feed(self, leader: ActiveSession, done: Done, events: Sequence[JsonObject]) -> None:
        """Passes on these events, which the leader has stored."""
        for _, session_id in targets_of(self._manager, leader)[1:]:
            session = self._manager.in_memory(session_id)
            following = None if session is None else self._fed.get(session)
            if session is None or following is None or not self._is_fed(session):
                # It is being loaded, and finds them in the store.
                continue
            if following.feed.at != done.progress.events - len(events):
                # Something was stored without the worker, such as a correction while nobody spoke.
                del self._fed[session]
                self._keep(asyncio.create_task(self._catch_up_later(leader, session, following)))
                continue
            self._submit(session, following, events)
            if done.tentative is not None and following.feed.listens:
                self._manager.submit(following.task, [Tail(" ".join(done.tentative.source))])

    async def _catch_up_later(self, leader: ActiveSession, session: ActiveSession, following: _Following) -> None:
        while session.task is following.task and not self._manager.draining:
            try:
                async with self._loading:
                    if not self._is_fed(session):
                        await self._catch_up(leader, session, following)
                return
            except StoreError:
                await asyncio.sleep(AGAIN_SECONDS)

    def _submit(self, session: ActiveSession, following: _Following, events: Sequence[JsonObject]) -> None:
        inputs = following.feed.inputs(events)
        if inputs:
            session.received = inputs[-1].seq
            self._manager.submit(following.task, inputs)

    def _is_fed(self, session: ActiveSession) -> bool:
        following = self._fed.get(session)
        return following is not None and session.task is following.task

    def finish_later(self, session: ActiveSession) -> None:
        """For a follower that somebody looks for: if its leader has ended, no speaker will bring it to its end."""
        self._keep(asyncio.create_task(self._finish(session)))

    async def _finish(self, session: ActiveSession) -> None:
        # An absent store: whoever asks next begins it again.
        with suppress(StoreError):
            leader = await self._manager.find(session.id.partition(".")[0])
            if leader is not None and leader.progress.ended and not self._manager.draining:
                await self.load(leader)

    def failed(self, session: ActiveSession, report: Failed) -> None:
        """A follower's work failed: it is tried again for a while, then when its speaker comes back."""
        self._fed.pop(session, None)
        if report.cause in ("failed", "store") and session.failures < MOST_FAILURES and session.leader is not None:
            self._keep(asyncio.create_task(self._load_again(session.leader)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Keeps a reference to a task, because Python drops tasks that have none."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load_again(self, leader: ActiveSession) -> None:
        while not self._manager.draining:
            await asyncio.sleep(AGAIN_SECONDS)
            if leader.speaker is None:
                return
            try:
                await self.load(leader)
            except StoreError:
                continue
            return
