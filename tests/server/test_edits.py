"""What an operator asks of captions: events of its own, and nothing of the speaker's is lost."""

from __future__ import annotations

import pytest

from tests.server.fakes import fake_translators
from turia.engine.backend import run_steps
from turia.protocol.client_messages import EndOfStream, NewSession, Pause, SettingsChange
from turia.protocol.corrections import Correct, Correction, Insert, Insertion, OperatorMessage
from turia.protocol.events import Event, SettingsInForce
from turia.protocol.values import ProtocolError
from turia.server.captions import Captions, Input, Word
from turia.server.choices import chosen_stream
from turia.server.edits import Edits, Steered
from turia.stream.trace import End, SentenceEnd, Write


def begin() -> Captions:
    translators = fake_translators()
    return Captions.begin(translators, chosen_stream(translators, NewSession(k=1)))[0]


def apply(captions: Captions, *inputs: Input | OperatorMessage, ms: float = 5.0) -> list[Event]:
    given = [item if isinstance(item, Word | Steered) else Steered(item) for item in inputs]  # type: ignore[arg-type]
    return run_steps(captions.apply(given, lambda: ms), captions.model.backend)


def test_corrections_and_insertions_are_numbered_events() -> None:
    captions = begin()
    apply(captions, Word(1, "ka"), Word(2, "le."))
    before = captions.progress
    assert apply(captions, Correct(0, 2, "Ka, le."), Insert(1, "[Applause]"), Insert(1, "more"), Insert(0, "", 0)) == [
        Correction(0, 2, "Ka, le.", 5.0),
        Insertion(0, 1, "[Applause]", 5.0),
        Insertion(1, 1, "more", 5.0),
        Insertion(0, 0, "", 5.0),
    ]
    assert captions.progress.inputs == before.inputs == 2
    assert captions.progress.events == before.events + 4
    again = Captions.restore(fake_translators(), captions.state(), captions.progress)
    assert apply(again, Insert(1, "third")) == [Insertion(2, 1, "third", 5.0)]
    assert [event.word for event in apply(again, Word(3, "mi.")) if isinstance(event, Write)] == ["mi"]


def test_lines_that_are_not_there_are_refused() -> None:
    edits = Edits(inserted=1)
    edits.check(Correct(4, 1, "a"), newest=4)
    edits.check(Insert(4, "a", 0), newest=4)
    with pytest.raises(ProtocolError, match="there is no sentence 5 yet; the newest is 4"):
        edits.check(Correct(5, 1, "a"), newest=4)
    with pytest.raises(ProtocolError, match="there is no sentence 5 yet"):
        edits.check(Insert(5, "a"), newest=4)
    with pytest.raises(ProtocolError, match="there is no line 1 of those put in; so far: 1"):
        edits.check(Insert(0, "a", 1), newest=4)


def test_an_operator_steers_as_the_speaker_can() -> None:
    captions = begin()
    apply(captions, Word(1, "ka"))
    assert any(isinstance(event, SentenceEnd) for event in apply(captions, Pause(1)))
    [event] = apply(captions, SettingsChange(1, k=5))
    assert isinstance(event, SettingsInForce)
    assert event.k == 5
    apply(captions, SettingsChange(1, model="en-de"))
    assert captions.model.name == "en-de"
    assert captions.progress.inputs == 1


def test_words_under_way_when_the_operator_ends_the_session_lead_to_nothing() -> None:
    captions = begin()
    events = apply(captions, Word(1, "ka"), EndOfStream(1), Word(2, "le"), Pause(1), Correct(0, 1, "Ka."))
    assert isinstance(events[-2], End)
    assert events[-1] == Correction(0, 1, "Ka.", 5.0)
    assert captions.progress.ended
    assert captions.progress.inputs == 2
