"""A session without a server: events, changes on the way, and going on from a state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import WORDS, Echo
from tests.server.fakes import FakeTranslator, chaotic_translators, fake_translators
from turia.engine.model import run_steps
from turia.server.messages import EndOfStream, Pause, ProtocolError, SettingsChange, Words
from turia.server.session import Input, Session, Word, inputs_of
from turia.stream.trace import parse_trace


def apply(session: Session, inputs: Sequence[Input], ms: float = 0.0) -> list[dict[str, Any]]:
    texts = run_steps(session.apply(inputs, lambda: ms), session.model.backend)
    return [json.loads(text) for text in texts]


def begun(k: int = 2) -> Session:
    return Session.begin(fake_translators(), "de-en", k, True)[0]


def said(*words: str, first: int = 1) -> list[Input]:
    return inputs_of(Words(first, words))


def test_source_words_come_before_what_they_cause() -> None:
    events = apply(begun(), said("ka", "le", "mi."), ms=1234.56)
    assert [(event["type"], event.get("word")) for event in events] == [
        ("source", "ka"),
        ("source", "le"),
        ("write", "ka"),
        ("source", "mi."),
        ("write", "le"),
        ("write", "mi"),
        ("sentence", None),
    ]
    assert {event["ms"] for event in events} == {1234.6}


def test_the_first_event_tells_the_settings() -> None:
    _, first = Session.begin(fake_translators(), "de-en", 3, True)
    expected = {"type": "settings", "model": "de-en", "source": "de", "target": "en", "k": 3, "gamma": 1.0, "ms": 0.0}
    assert json.loads(first).items() >= expected.items()


def test_a_language_may_have_a_hyphen() -> None:
    translators = {"pt-BR-en": FakeTranslator("pt-BR-en", Echo())}
    _, first = Session.begin(translators, "pt-BR-en", 3, True)
    assert json.loads(first).items() >= {"model": "pt-BR-en", "source": "pt-BR", "target": "en"}.items()


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ProtocolError, match="de-en, en-de"):
        Session.begin(fake_translators(), "xx-yy", 3, True)


def test_times_of_the_speaker_are_kept_and_ours_never_go_back() -> None:
    session = begun()
    (first,) = apply(session, [Word(1, "ka", at=17.0)], ms=500)
    (second, *_) = apply(session, [Word(2, "le")], ms=400)
    assert (first["at"], first["ms"], second["ms"]) == (17.0, 500.0, 500.0)
    assert "at" not in second


def test_a_pause_closes_the_sentence() -> None:
    events = apply(begun(k=9), [*said("ka", "le"), Pause(3)])
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le"]
    assert events[-1]["reason"] == "pause"


def test_k_changes_with_the_next_sentence() -> None:
    session = begun(k=1)
    events = apply(session, [*said("ka", "le"), SettingsChange(3, k=2), *said("mi.", "no", "pu", first=4)])
    assert [event["k"] for event in events if event["type"] == "settings"] == [2]
    assert [event["read"] for event in events if event["type"] == "write"] == [1, 2, 3, 5]


def test_a_change_of_direction_goes_on_counting() -> None:
    session = begun()
    events = apply(session, [*said("ka", "le"), SettingsChange(3, model="en-de"), *said("mi", "no", first=4)])
    events += apply(session, [EndOfStream(6)])
    assert [event["index"] for event in events if event["type"] == "source"] == [0, 1, 2, 3]
    trace = parse_trace(
        ['{"type":"stream","version":1}'] + [json.dumps(e) for e in events if e["type"] not in ("source", "settings")]
    )
    assert trace.source_words() == 4
    assert [event["sentence"] for event in events if event["type"] == "sentence"] == [0, 1]
    assert session.ended


inputs = st.lists(
    st.sampled_from([*WORDS, "ka.", "le,"]).map(lambda word: Word(0, word))
    | st.just(Pause(0))
    | st.integers(1, 5).map(lambda k: SettingsChange(0, k=k))
    | st.sampled_from(["de-en", "en-de"]).map(lambda model: SettingsChange(0, model=model)),
    max_size=12,
)


@settings(max_examples=50)
@given(inputs, st.data())
def test_restored_anywhere_it_goes_on_with_the_same_events(items: list[Input], data: st.DataObject) -> None:
    whole = Session.begin(chaotic_translators(), "de-en", 2, True)[0]
    expected = [apply(whole, [item]) for item in [*items, EndOfStream(0)]]
    session, events = Session.begin(chaotic_translators(), "de-en", 2, True)[0], []
    for item in [*items, EndOfStream(0)]:
        if data.draw(st.booleans()):
            session = Session.restore(chaotic_translators(), session.state())
        events.append(apply(session, [item]))
    assert events == expected
    assert session.state() == whole.state()
