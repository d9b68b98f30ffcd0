"""A session in use: its counters, its connections and its newest events, without a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.server.fakes import fake_translators
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import EndOfStream, Pause
from turia.protocol.server_messages import Refusal
from turia.protocol.values import ProtocolError
from turia.schema import JsonObject
from turia.server.captions import Captions, Word
from turia.server.choices import StreamChoice
from turia.server.progress import Progress
from turia.server.session import RECENT, ActiveSession, EventReader
from turia.server.stores.base import StoredSession
from turia.server.worker import Task

CAPTIONS, _ = Captions.begin(fake_translators(), StreamChoice("de-en", WaitK(2), punctuation=True))
STORED = StoredSession("id", "owner", "hash", 10.0, 10.0, Progress(4, 9), CAPTIONS.state(), token=3)


def numbered(first: int, last: int) -> list[JsonObject]:
    return [{"n": number} for number in range(first, last + 1)]


def active(held_until: float = 0.0, in_work: bool = False) -> ActiveSession:
    session = ActiveSession(STORED, held_until)
    session.task = Task("id", CAPTIONS, 10.0) if in_work else None
    return session


def code_of(error: pytest.ExceptionInfo[ProtocolError]) -> str:
    return error.value.code


def test_it_begins_where_the_store_is() -> None:
    session = active()
    assert (session.id, session.owner, session.token, session.turn) == ("id", "owner", 3, 3)
    assert (session.progress, session.received, session.in_work) == (Progress(4, 9), 4, False)
    assert session.model == "de-en"


def test_inputs_are_received_once_and_in_order() -> None:
    session = active()
    words = [Word(seq, "ka") for seq in range(3, 8)]
    new = session.new_inputs(words)
    assert new == words[2:]
    session.receive(new, most=10, now=100.0)
    assert (session.received, session.progress.inputs, session.in_work) == (7, 4, True)
    assert session.new_inputs(words) == []
    with pytest.raises(ProtocolError, match="input 9 came after 7") as caught:
        session.new_inputs([Pause(9)])
    assert code_of(caught) == "gap"


def test_too_many_inputs_without_an_acknowledgement_are_refused_and_not_counted() -> None:
    session = active()
    with pytest.raises(ProtocolError, match="more than 2 inputs") as caught:
        session.receive([Word(seq, "ka") for seq in (5, 6, 7)], most=2, now=0.0)
    assert code_of(caught) == "queue"
    assert session.received == 4


def test_nothing_follows_the_end() -> None:
    session = active()
    session.receive([EndOfStream(5)], most=10, now=0.0)
    with pytest.raises(ProtocolError) as caught:
        session.new_inputs([Pause(6)])
    assert code_of(caught) == "ended"
    # An end that was received and lost again, because the worker failed, is none.
    session.drop_task()
    session.reset(STORED)
    assert session.new_inputs([Pause(5)]) == [Pause(5)]


def test_what_is_stored_is_counted_measured_and_told_to_all() -> None:
    session, reader = active(), EventReader("viewer")
    session.readers.add(reader)
    session.failures = 2
    session.receive([Word(5, "ka"), Word(6, "le")], most=10, now=100.0)
    session.receive([Pause(7)], most=10, now=101.0)
    assert session.advance(Progress(6, 12), numbered(10, 12), now=103.0) == [3.0]
    assert (session.progress, session.in_work, session.failures) == (Progress(6, 12), True, 0)
    assert reader.wake.is_set()
    assert session.advance(Progress(7, 12), [], now=103.5) == [2.5]
    assert not session.in_work


def test_what_the_worker_lost_was_not_received() -> None:
    session = active(in_work=True)
    session.receive([Word(5, "ka")], most=10, now=100.0)
    session.drop_task()
    assert (session.task, session.received) == (None, 4)
    assert session.advance(Progress(5, 10), numbered(10, 10), now=200.0) == []


def test_newest_events_are_in_memory_and_older_ones_are_not() -> None:
    session = active()
    assert session.recent_after(8) is None, "event 9 is in the store alone"
    session.advance(Progress(5, 9 + RECENT), numbered(10, 9 + RECENT), now=0.0)
    assert session.recent_after(9) == numbered(10, 9 + RECENT)
    assert session.recent_after(8) is None
    assert session.recent_after(9 + RECENT) is None, "there is nothing new"
    session.advance(Progress(6, 10 + RECENT), numbered(10 + RECENT, 10 + RECENT), now=0.0)
    assert session.recent_after(9) is None
    assert session.recent_after(10 + RECENT - 2) == numbered(9 + RECENT, 10 + RECENT)


def test_news_from_another_server_take_over_also_where_some_are_gone() -> None:
    session = active()
    session.follow(10, numbered(10, 11), Progress(5, 11))
    assert (session.progress, session.received) == (Progress(5, 11), 5)
    assert session.recent_after(9) == numbered(10, 11)
    session.follow(20, numbered(20, 21), Progress(8, 21, ended=True))
    assert session.recent_after(10) is None
    assert session.recent_after(19) == numbered(20, 21)
    assert session.progress.ended


def test_a_place_is_held_for_a_speaker_who_may_come_back() -> None:
    session, reader = active(held_until=50.0), EventReader("speaker")
    assert session.holds_place(49.0)
    assert not session.holds_place(50.0)
    session.begin_speaking(reader, turn=4)
    session.readers.add(reader)
    assert session.holds_place(1e9)
    session.leave(reader, held_until=80.0)
    assert (session.speaker, session.readers) == (None, set())
    assert session.holds_place(79.0)
    assert not session.is_idle(79.0)
    assert session.is_idle(80.0)
    session.advance(Progress(5, 10, ended=True), numbered(10, 10), now=0.0)
    assert session.is_idle(0.0)


def test_the_newest_speaker_has_the_word() -> None:
    session, old, new = active(), EventReader("speaker"), EventReader("speaker")
    session.begin_speaking(old, turn=4)
    session.begin_speaking(new, turn=5)
    assert old.refusal == Refusal("replaced", "the session goes on in another connection")
    assert (session.speaker, session.turn, new.refusal) == (new, 5, None)
    session.leave(old, held_until=99.0)
    assert session.speaker is new


def test_a_session_that_another_server_claimed_is_let_go() -> None:
    session, speaker = active(held_until=50.0, in_work=True), EventReader("speaker")
    session.begin_speaking(speaker, turn=4)
    session.let_go(now=20.0)
    assert (session.task, session.speaker) == (None, None)
    assert speaker.refusal is not None
    assert not session.holds_place(20.0)


def test_a_speaker_who_does_not_come_back_has_left_once() -> None:
    session, reader = active(in_work=True), EventReader("speaker")
    assert session.speaker_present(shared=True) is False
    session.begin_speaking(reader, 4)
    assert session.speaker_present(shared=True) is True
    assert not session.was_left(1e9)
    session.leave(reader, held_until=50.0)
    assert session.speaker_present(shared=False) is False
    assert [session.was_left(now) for now in (49.0, 50.0, 51.0)] == [False, True, False]
    # Whoever comes back may leave again.
    session.begin_speaking(reader, 5)
    session.leave(reader, held_until=80.0)
    assert session.was_left(80.0)
    session.drop_task()
    assert session.speaker_present(shared=True) is None, "another server may have it"
    assert session.speaker_present(shared=False) is False


def test_viewers_are_woken_when_the_speaker_goes_and_comes() -> None:
    session, speaker, viewer = active(in_work=True), EventReader("speaker"), EventReader("viewer")
    session.readers |= {speaker, viewer}
    changes: list[Callable[[], None]] = [
        lambda: session.begin_speaking(speaker, 4),
        lambda: session.leave(speaker, 50.0),
    ]
    for change in changes:
        viewer.wake.clear()
        change()
        assert viewer.wake.is_set()


def test_a_session_that_follows_has_the_speaker_of_its_leader() -> None:
    leader, follower = active(in_work=True), active(in_work=True)
    follower.leader = leader
    speaker, viewer = EventReader("speaker"), EventReader("viewer")
    follower.readers.add(viewer)
    assert follower.speaker_present(shared=True) is False
    leader.begin_speaking(speaker, 4)
    assert viewer.wake.is_set()
    assert follower.speaker_present(shared=True) is True
    viewer.wake.clear()
    leader.leave(speaker, held_until=50.0)
    assert viewer.wake.is_set()
    assert follower.speaker_present(shared=True) is False
    # Its leader is told that the sentence is over, and passes that on.
    assert not follower.was_left(60.0)
    assert leader.was_left(60.0)
