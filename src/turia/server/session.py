"""One session in use: who speaks, who follows, how far it is, and its newest events. It lives on the event loop.

`ActiveSession` is the only owner of a session's counters on this server. The manager reports to it what a speaker said
and what the worker has stored; `shared` reports what another server has stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from turia.engine.tail import Tentative
from turia.errors import InputError
from turia.protocol.client_messages import EndOfStream
from turia.protocol.server_messages import Refusal, ServerMessage, TentativeText
from turia.protocol.values import MAX_SEQ, ProtocolError, Role
from turia.schema import JsonObject, read_json
from turia.server.captions import NumberedInput
from turia.server.places import Pace
from turia.server.progress import Progress
from turia.server.stores.base import DamagedError, StoredSession
from turia.server.worker import Task

RECENT = 256
"""Events of a session kept in memory; a reader that is further behind gets them from the store."""
DELETED = Refusal("deleted", "the session was deleted")
REPLACED = Refusal("replaced", "the session goes on in another connection")
PAST_QUOTA = Refusal("quota", "the sessions of this key take all the room that they may; delete some", retry=True)
REVOKED = Refusal("key", "the key of this session was revoked")


@dataclass(eq=False)
class EventReader:
    """One connection to a session."""

    role: Role
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    outbox: deque[ServerMessage] = field(default_factory=deque)
    """Messages to send besides events and acknowledgements; never more than a few."""
    tentative: bool = False
    """Whether it is told what may still change."""
    presence: bool = False
    """Whether it is told when the speaker goes and comes."""
    refusal: Refusal | None = None
    """Set when the connection is to end."""

    def refuse(self, refusal: Refusal) -> None:
        self.refusal = self.refusal or refusal
        self.wake.set()


class ActiveSession:
    """A session in use.

    Its inputs are counted twice: `received` are those that the speaker has sent, `progress` has those that are stored.
    The inputs between the two are in the worker's hands.
    """

    def __init__(self, stored: StoredSession, held_until: float, joined: bool = True) -> None:
        self.id, self.owner, self.secret_hash, self.began = stored.id, stored.owner, stored.secret_hash, stored.began
        self.loading = asyncio.Lock()
        """Held while the session is claimed in the store."""
        self.task: Task | None = None
        """The captions in the worker's hands; None while another server has the session, or nobody speaks."""
        self.speaker: EventReader | None = None
        self.turn = stored.token
        """The newest turn of a speaker that came here."""
        self.readers: set[EventReader] = set()
        """All connections, the speaker's among them."""
        self.held_until = held_until
        """While nobody speaks, the session keeps its place until then."""
        self.awaited = False
        """Begun here, but its speaker may come to another server: a place among all of them, not yet one of ours."""
        self.joined = joined
        """Whether a speaker has ever come. Until then its place is one that others may take."""
        self._pace = Pace()
        self._leader: ActiveSession | None = None
        self._followers: set[ActiveSession] = set()
        self.abandoned = False
        """Whether its speaker has been away for so long that the open sentence was closed."""
        self.failures = 0
        """Translations that failed, one after the other."""
        self.tentative: TentativeText | None = None
        """What may still change, behind the newest event."""
        self._recent: deque[JsonObject] = deque(maxlen=RECENT)
        self._arrivals: deque[tuple[int, float]] = deque()
        """Number and time of the inputs in the worker's hands."""
        self.reset(stored)

    def reset(self, stored: StoredSession) -> None:
        """Goes to where the store is."""
        self.token, self._state = stored.token, stored.state
        self.progress = stored.progress
        self.received = stored.progress.inputs
        self._last = MAX_SEQ
        """Number of the end of the stream, once that was received."""
        self._recent.clear()
        self._arrivals.clear()

    @property
    def pace(self) -> Pace:
        """Of who speaks in it, or in the session that it follows."""
        return self.lead._pace

    @property
    def model(self) -> str:
        """Name of the model that the session uses, or used when it was read from the store."""
        if self.task is not None:
            return self.task.captions.choice.model
        try:
            return str(read_json(self._state)["stream"]["model"])
        except (InputError, KeyError, TypeError):
            raise DamagedError from None

    @property
    def also(self) -> tuple[str, ...]:
        """Models of the sessions that follow it."""
        if self.task is not None:
            return self.task.captions.choice.also
        try:
            return tuple(map(str, read_json(self._state).get("also", ())))
        except (InputError, TypeError):
            raise DamagedError from None

    # --- connections ----------------------------------------------------------------------------------------------

    @property
    def leader(self) -> ActiveSession | None:
        """Whose words it translates, if nobody speaks in it."""
        return self._leader

    @leader.setter
    def leader(self, leader: ActiveSession | None) -> None:
        self._leader = leader
        if leader is not None:
            leader._followers.add(self)

    @property
    def lead(self) -> ActiveSession:
        """The session that its speaker speaks in."""
        return self.leader or self

    def holds_place(self, now: float) -> bool:
        lead = self.lead
        return not self.progress.ended and (lead.speaker is not None or lead.held_until > now)

    def speaker_present(self, shared: bool) -> bool | None:
        """Whether the speaker is connected; None if the session is over, or if another server of the store may know."""
        if self.progress.ended or (shared and self.lead.task is None):
            return None
        return self.lead.speaker is not None

    def was_left(self, now: float) -> bool:
        """Whether the speaker has left and lost the place, since this was asked last: then nobody will complete the
        sentence that is open."""
        # Sessions that follow are told by their leader.
        left = self.joined and not self.abandoned and self.takes_words and self.leader is None
        if not left or self.speaker is not None or self.held_until > now:
            return False
        self.abandoned = True
        return True

    def is_idle(self, now: float) -> bool:
        """Whether nobody would miss the session in memory."""
        return not self.readers and not self.holds_place(now) and not self.in_work

    def begin_speaking(self, reader: EventReader, turn: int) -> None:
        """The newest turn has the word: the speaker's old connection may be a dead one."""
        self.awaited, self.joined, self.abandoned = False, True, False
        if self.speaker is not None:
            self.speaker.refuse(REPLACED)
        self.speaker, self.turn = reader, turn
        self._tell_presence()

    def leave(self, reader: EventReader, held_until: float) -> None:
        """A connection has ended; a speaker's place is held for a while."""
        self.readers.discard(reader)
        if self.speaker is reader:
            self.speaker, self.held_until = None, held_until
            self._tell_presence()

    def let_go(self, now: float) -> None:
        """Another server has claimed the session: its speaker and its place are there."""
        self.drop_task()
        if self.loading.locked():
            # The speaker has reconnected meanwhile, and is about to claim it again.
            return
        if self.speaker is not None:
            self.speaker.refuse(REPLACED)
            self.speaker = None
        self.held_until = now

    def revoke(self, now: float, why: Refusal = REVOKED) -> None:
        """The key that began it is gone, or may store no more: it has no place any more, and its speaker no word."""
        self.held_until = now
        if self.speaker is not None:
            self.speaker.refuse(why)

    def _tell_presence(self) -> None:
        for session in (self, *self._followers):
            session.wake_all()

    def wake_all(self) -> None:
        for reader in self.readers:
            reader.wake.set()

    # --- inputs ---------------------------------------------------------------------------------------------------

    @property
    def in_work(self) -> bool:
        """Whether the worker has inputs of it."""
        return self.received > self.progress.inputs

    @property
    def takes_words(self) -> bool:
        """Whether the worker has the session, and its end was not received."""
        return self.task is not None and not self.progress.ended and self.received < self._last

    def new_inputs(self, inputs: Sequence[NumberedInput]) -> list[NumberedInput]:
        """Those that were not received before. A gap is refused, and so is what follows the end."""
        if inputs[0].seq > self.received + 1:
            raise ProtocolError("gap", f"input {inputs[0].seq} came after {self.received}; send from there")
        new = [item for item in inputs if item.seq > self.received]
        if new and (self.progress.ended or self.received >= self._last):
            raise ProtocolError("ended", "the session has ended; begin a new one")
        return new

    def receive(self, new: Sequence[NumberedInput], most: int, now: float) -> None:
        """Takes inputs that go to the worker next; `most` may wait for their acknowledgement."""
        last = new[-1]
        if last.seq - self.progress.inputs > most:
            raise ProtocolError("queue", f"more than {most} inputs are not yet acknowledged; wait for acks")
        self.received = last.seq
        self.pace.say(len(new), now)
        self._last = last.seq if isinstance(last, EndOfStream) else MAX_SEQ
        self._arrivals.append((last.seq, now))

    def drop_task(self) -> None:
        """Forgets the worker's task: what it has not stored counts as not received."""
        self.task, self.received = None, self.progress.inputs
        self._arrivals.clear()

    # --- events ---------------------------------------------------------------------------------------------------

    def advance(
        self, progress: Progress, events: Sequence[JsonObject], now: float, tentative: Tentative | None = None
    ) -> list[float]:
        """Notes that the worker has stored the session up to here; gives the seconds since each message arrived."""
        self.failures = 0
        self.tentative = (
            None if tentative is None else TentativeText(progress.events, tentative.source, tentative.target)
        )
        self._add(progress, events)
        delays = []
        while self._arrivals and self._arrivals[0][0] <= progress.inputs:
            delays.append(now - self._arrivals.popleft()[1])
        return delays

    def catch_up(self, progress: Progress, events: Sequence[JsonObject]) -> None:
        """Notes what this server has added to the session in the store while no worker had it."""
        self._add(progress, events)

    def follow(self, first: int, events: Sequence[JsonObject], progress: Progress) -> None:
        """Takes events that another server has added; `first` is the number of the first of them."""
        if first > self.progress.events + 1:
            # What lay between is not kept any more.
            self._recent.clear()
        self._add(progress, events)
        self.received = progress.inputs

    def _add(self, progress: Progress, events: Sequence[JsonObject]) -> None:
        self._recent.extend(events)
        self.progress = progress
        self.wake_all()

    def recent_after(self, after: int) -> list[JsonObject] | None:
        """The events after number `after`; None if memory does not hold them all."""
        missing = self.progress.events - after
        return list(self._recent)[-missing:] if 0 < missing <= len(self._recent) else None
