"""Captions without a server: events, changes on the way, and going on from a state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import WORDS, Echo, FreeEcho
from tests.server.fakes import FakeTranslator, chaotic_translators, fake_translators
from turia.engine.backend import run_steps
from turia.engine.stream import Stream
from turia.engine.tail import Tentative
from turia.errors import ConfigError
from turia.policy.act import Act
from turia.policy.alignatt import AlignAtt
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import EndOfStream, InputMessage, NewSession, Pause, SettingsChange, Words
from turia.protocol.events import EVENTS
from turia.protocol.values import ProtocolError
from turia.server.captions import Captions, Input, SilenceNoticed, Tail, Word, inputs_of
from turia.server.choices import StreamChoice, any_stream, chosen_stream
from turia.server.progress import Progress
from turia.stream.trace import RECORDS, parse_trace

RECORDED = Path(__file__).parents[1] / "recorded" / "release-0.1" / "events.jsonl"
CHOICE = StreamChoice("de-en", WaitK(2), punctuation=True)


def apply(captions: Captions, inputs: Sequence[Input], ms: float = 0.0) -> list[dict[str, Any]]:
    events = run_steps(captions.apply(inputs, lambda: ms), captions.model.backend)
    return [EVENTS.to_json(event) for event in events]


def begun(k: int = 2) -> Captions:
    return Captions.begin(fake_translators(), replace(CHOICE, policy=WaitK(k)))[0]


def said(*words: str, first: int = 1) -> list[Input]:
    return list(inputs_of(Words(first, words)))


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
    captions, first = Captions.begin(fake_translators(), replace(CHOICE, policy=WaitK(3)))
    expected = {"type": "settings", "model": "de-en", "source": "de", "target": "en", "k": 3, "gamma": 1.0, "ms": 0.0}
    assert EVENTS.to_json(first).items() >= expected.items()
    assert captions.progress == Progress(inputs=0, events=1)


def test_a_session_has_the_policy_that_was_chosen() -> None:
    captions, first = Captions.begin(fake_translators(), replace(CHOICE, policy=HoldN(1)))
    assert EVENTS.to_json(first)["policy"] == "hold-n:n=1"
    events = apply(captions, said("ka", "le", "mi", "no."))
    assert [(event["word"], event["read"]) for event in events if event["type"] == "write"] == [
        ("ka", 2),
        ("le", 3),
        ("mi", 4),
        ("no", 4),
    ]
    restored = Captions.restore(fake_translators(), captions.state(), captions.progress)
    assert restored.choice == captions.choice
    assert str(restored.stream.settings.policy) == "hold-n:n=1"


def test_who_chooses_nothing_has_the_model_s_own_policy() -> None:
    translators = fake_translators()
    assert chosen_stream(translators, NewSession()) == StreamChoice("de-en", WaitK(4), punctuation=False)
    assert chosen_stream(translators, NewSession(k=7)).policy == WaitK(7)
    own = translators["en-de"]
    own.model = replace(own.model, policy=HoldN(2))
    assert chosen_stream(translators, NewSession("en-de")).policy == HoldN(2)
    assert chosen_stream(translators, NewSession("en-de", k=7)).policy == WaitK(7)
    assert str(any_stream(own).settings.policy) == "hold-n:n=2"
    # An unknown model is refused where the stream begins.
    assert chosen_stream(translators, NewSession("xx-yy")).model == "xx-yy"


def test_a_session_keeps_the_lag_that_was_chosen_until_a_fixed_k_is() -> None:
    captions, first = Captions.begin(fake_translators(), replace(CHOICE, target_lag="3s"))
    assert EVENTS.to_json(first)["target_lag"] == "3s"
    restored = Captions.restore(fake_translators(), captions.state(), captions.progress)
    assert restored.choice == captions.choice
    (changed,) = apply(captions, [SettingsChange(1, target_lag="5")])
    assert (changed["target_lag"], changed["k"]) == ("5", 2)
    apply(captions, said("ka.", first=2))
    assert str(captions.stream.settings.target_lag) == "5"
    (changed,) = apply(captions, [SettingsChange(3, k=6)])
    assert "target_lag" not in changed
    note, changed = apply(captions, [SettingsChange(4, policy="whole", target_lag="5")])
    assert note["kind"] == "settings-refused"
    assert "policy whole has no parameter" in note["detail"]
    assert (changed["k"], "policy" in changed) == (6, False)


def test_policy_and_k_take_each_other_s_place() -> None:
    captions = begun()
    (changed,) = apply(captions, [SettingsChange(1, policy="whole")])
    assert changed["policy"] == "whole"
    apply(captions, said("ka", first=2))
    assert str(captions.stream.settings.policy) == "whole"
    (back,) = apply(captions, [SettingsChange(3, k=7)])
    assert "policy" not in back
    assert back["k"] == 7


def test_a_policy_that_the_model_cannot_have_is_refused_and_the_session_goes_on() -> None:
    backend = Echo()
    backend.can_look = False
    captions, _ = Captions.begin({"de-en": FakeTranslator("de-en", backend)}, CHOICE)
    note, settings_event = apply(captions, [SettingsChange(1, policy="alignatt:f=2")])
    assert (note["type"], note["kind"]) == ("note", "settings-refused")
    assert "policy" not in settings_event
    events = apply(captions, said("ka", "le.", first=2))
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le"]
    with pytest.raises(ProtocolError, match="this model cannot be run with policy alignatt:f=2"):
        Captions.begin({"de-en": FakeTranslator("de-en", backend)}, replace(CHOICE, policy=AlignAtt(2)))


def test_a_model_that_cannot_go_on_is_refused_and_the_session_goes_on_as_it_was() -> None:
    """Whoever sends a change checks it before; but what is checked may have changed until it comes here."""
    blind = Echo()
    blind.can_look = False
    translators = {"de-en": FakeTranslator("de-en", Echo()), "en-de": FakeTranslator("en-de", blind)}
    captions, _ = Captions.begin(translators, replace(CHOICE, policy=AlignAtt(2)))
    for change in (SettingsChange(1, model="en-de"), SettingsChange(1, model="none", glossary="ka\tmi")):
        note, settings_event = apply(captions, [change])
        assert (note["type"], note["kind"]) == ("note", "settings-refused")
        assert (settings_event["model"], settings_event["policy"]) == ("de-en", "alignatt:f=2")
        assert captions.choice == replace(CHOICE, policy=AlignAtt(2))
    events = apply(captions, said("ka", "le.", first=2))
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le"]


def test_a_language_may_have_a_hyphen() -> None:
    translators = {"pt-BR-en": FakeTranslator("pt-BR-en", Echo())}
    _, first = Captions.begin(translators, replace(CHOICE, model="pt-BR-en"))
    assert EVENTS.to_json(first).items() >= {"model": "pt-BR-en", "source": "pt-BR", "target": "en"}.items()


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ProtocolError, match="de-en, en-de"):
        Captions.begin(fake_translators(), replace(CHOICE, model="xx-yy"))


def test_times_of_the_speaker_are_kept_and_ours_never_go_back() -> None:
    captions = begun()
    (first,) = apply(captions, [Word(1, "ka", at=17.0)], ms=500)
    (second, *_) = apply(captions, [Word(2, "le")], ms=400)
    assert (first["at"], first["ms"], second["ms"]) == (17.0, 500.0, 500.0)
    assert "at" not in second


def test_a_pause_closes_the_sentence() -> None:
    events = apply(begun(k=9), [*said("ka", "le"), Pause(3)])
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le"]
    assert events[-1]["reason"] == "pause"


def test_k_changes_with_the_next_sentence() -> None:
    captions = begun(k=1)
    events = apply(captions, [*said("ka", "le"), SettingsChange(3, k=2), *said("mi.", "no", "pu", first=4)])
    assert [event["k"] for event in events if event["type"] == "settings"] == [2]
    assert [event["read"] for event in events if event["type"] == "write"] == [1, 2, 3, 5]


def test_a_change_of_direction_goes_on_counting() -> None:
    captions = begun()
    events = apply(captions, [*said("ka", "le"), SettingsChange(3, model="en-de"), *said("mi", "no", first=4)])
    events += apply(captions, [EndOfStream(6)])
    assert [event["index"] for event in events if event["type"] == "source"] == [0, 1, 2, 3]
    records = [json.dumps(event) for event in events if event["type"] in RECORDS.kinds]
    trace = parse_trace(['{"type":"stream","version":1}', *records])
    assert trace.source_words() == 4
    assert [event["sentence"] for event in events if event["type"] == "sentence"] == [0, 1]
    assert captions.progress == Progress(6, 1 + len(events), ended=True)


class Asked(FakeTranslator):
    """Notes for each stream whether punctuation was asked for."""

    def __init__(self) -> None:
        super().__init__("de-en", Echo())
        self.asked: list[bool] = []

    def stream(self, *, punctuation: bool, **settings: Any) -> Stream:
        self.asked.append(punctuation)
        return super().stream(punctuation=punctuation, **settings)


def test_sentence_ends_come_from_elsewhere_at_once() -> None:
    translator = Asked()
    captions, _ = Captions.begin({"de-en": translator}, StreamChoice("de-en", WaitK(9), False))
    events = apply(captions, [*said("ka", "le"), SettingsChange(3, punctuation=True), *said("mi", first=4)])
    events += apply(captions, [SettingsChange(5, punctuation=True), EndOfStream(6)])
    # The same again changes nothing.
    assert translator.asked == [False, True]
    assert [event["punctuation"] for event in events if event["type"] == "settings"] == [True, True]
    assert [event["sentence"] for event in events if event["type"] == "sentence"] == [0, 1]
    assert [event["index"] for event in events if event["type"] == "write"] == [0, 1, 2]


def test_the_events_of_release_0_1_come_out_to_the_letter() -> None:
    captions, first = Captions.begin(fake_translators(), CHOICE)
    said: list[tuple[float, InputMessage]] = [
        (100.04, Words(1, ("ka", "le"), (1000.0, 1400.5))),
        (950.0, Words(3, ("mi.",), (1900.0,))),
        (1200.0, SettingsChange(4, k=3)),
        (1300.0, Words(5, ("no", "pu", "x" * 201))),
        (1250.0, Pause(8)),
        (2000.0, SettingsChange(9, model="en-de")),
        (2100.0, Words(10, ("ka", "größe"))),
        (3000.5, EndOfStream(12)),
    ]
    lines = [EVENTS.to_line(first)]
    for ms, message in said:
        steps = captions.apply(inputs_of(message), lambda ms=ms: ms)  # type: ignore[misc]
        lines += [EVENTS.to_line(event) for event in run_steps(steps, captions.model.backend)]
    assert lines == RECORDED.read_text(encoding="utf-8").splitlines()


def test_a_state_of_release_0_1_goes_on() -> None:
    before = begun()
    apply(before, said("ka", "le"))
    state = (
        '{"version":1,"k":3,"punctuation":true,"ms":1300.0,"before":{"read":6,"written":5,"sentences":2},"stream":'
        + json.dumps(before.stream.state())
        + "}"
    )
    captions = Captions.restore(fake_translators(), state, Progress(8, 17))
    source, written, *_ = apply(captions, said("mi", first=9), ms=100.0)
    assert (source["index"], source["ms"], written["index"], written["sentence"]) == (8, 1300.0, 6, 2)
    assert captions.choice == replace(CHOICE, policy=WaitK(3))
    assert captions.progress == Progress(9, 19)


@pytest.mark.parametrize("damage", ["", "[]", '"k":"secret"', '"before":{}', '"stream":{"model":"de-en"}'])
def test_a_damaged_state_is_refused_without_repeating_it(damage: str) -> None:
    captions = begun()
    state = captions.state()
    damaged = {'"k":"secret"': '"k":2', '"before":{}': '"before":{"read":0,"written":0,"sentences":0}'}
    if damage.startswith('"stream"'):
        state = '{"version":1,"k":2,"punctuation":true,"ms":0.0,"before":{},' + damage + "}"
    elif damage in damaged:
        assert damaged[damage] in state
        state = state.replace(damaged[damage], damage.replace("{}", '{"read":"secret"}'))
    else:
        state = damage
    with pytest.raises(ProtocolError) as caught:
        Captions.restore(fake_translators(), state, captions.progress)
    assert "secret" not in str(caught.value)


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
    whole = Captions.begin(chaotic_translators(), CHOICE)[0]
    expected = [apply(whole, [item]) for item in [*items, EndOfStream(0)]]
    captions, events = Captions.begin(chaotic_translators(), CHOICE)[0], []
    for item in [*items, EndOfStream(0)]:
        if data.draw(st.booleans()):
            captions = Captions.restore(chaotic_translators(), captions.state(), captions.progress)
        events.append(apply(captions, [item]))
    assert events == expected
    assert (captions.state(), captions.progress) == (whole.state(), whole.progress)


def test_a_tail_brings_words_out_and_takes_no_number() -> None:
    captions = begun()
    apply(captions, said("ka"))
    before = captions.progress
    events = apply(captions, [Tail("le mi no")])
    assert [(event["type"], event["word"], event["read"]) for event in events] == [("write", "ka", 1)]
    assert captions.tentative == Tentative(("le", "mi", "no"), ("le", "mi"))
    assert captions.progress == Progress(before.inputs, before.events + 1)
    restored = Captions.restore(fake_translators(), captions.state(), captions.progress)
    # What went out is not written again, and the tail is forgotten.
    for one in (captions, restored):
        events = apply(one, said("le", "mi.", first=2))
        assert [event.get("word") for event in events if event["type"] == "write"] == ["le", "mi"]
        assert one.tentative is None


def test_a_silence_that_the_server_noticed_closes_the_sentence_and_takes_no_number() -> None:
    captions = begun()
    apply(captions, said("ka", "le"))
    events = apply(captions, [SilenceNoticed()])
    assert [(event["type"], event.get("reason")) for event in events] == [("write", "catch-up"), ("sentence", "pause")]
    assert captions.progress.inputs == 2
    assert apply(captions, [SilenceNoticed()]) == []


def test_the_pause_that_was_chosen_is_kept() -> None:
    captions, _ = Captions.begin(fake_translators(), replace(CHOICE, pause=0.5))
    assert Captions.restore(fake_translators(), captions.state(), captions.progress).choice.pause == 0.5


def test_another_speaker_closes_the_sentence_and_is_named_behind_it() -> None:
    captions = begun()
    inputs = [Pause(1, "Anna"), *said("ka", "le", first=2), Pause(4, "Bo"), *said("mi", first=5), EndOfStream(6)]
    events = apply(captions, inputs)
    shown = [event.get("word") or event.get("detail") or event["type"] for event in events if event["type"] != "source"]
    assert shown == ["Anna", "ka", "le", "sentence", "Bo", "mi", "sentence", "end"]
    named = [event for event in events if event["type"] == "note"]
    assert named == [
        {"type": "note", "kind": "speaker", "sentence": 0, "detail": "Anna"},
        {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Bo"},
    ]
    assert captions.progress.inputs == 6


def test_a_session_without_a_segmenter_is_chosen_kept_and_left() -> None:
    translators = {"de-en": FakeTranslator("de-en", FreeEcho())}
    choice = chosen_stream(translators, NewSession(k=1, segmentation="free"))
    assert choice == StreamChoice("de-en", WaitK(1), punctuation=False, free=True)
    captions, first = Captions.begin(translators, choice)
    assert EVENTS.to_json(first)["segmentation"] == "free"
    events = apply(captions, said("ka", "ra", "mi"))
    assert [event["reason"] for event in events if event["type"] == "sentence"] == ["free"]
    captions = Captions.restore(translators, captions.state(), captions.progress)
    assert captions.choice == choice
    events = apply(captions, [*said("no", "ra", "pu", first=4)])
    assert [event["word"] for event in events if event["type"] == "write"] == ["no", "ra", "pu"]
    events = apply(captions, list(inputs_of(SettingsChange(7, punctuation=True))))
    assert not captions.stream.free
    assert "segmentation" not in events[-1]


def test_a_model_that_needs_a_segmenter_is_not_run_without() -> None:
    with pytest.raises(ProtocolError, match="not trained to work without a segmenter"):
        Captions.begin(fake_translators(), replace(CHOICE, punctuation=False, free=True))
    # One that needs none may lack the heads of a policy.
    translators = {"de-en": FakeTranslator("de-en", FreeEcho())}
    with pytest.raises(ProtocolError, match=r"cannot be run with policy act:lag_cost=0\.7"):
        Captions.begin(translators, StreamChoice("de-en", Act(0.7), punctuation=False, free=True))


def test_two_sources_of_sentence_ends_are_one_too_many() -> None:
    with pytest.raises(ConfigError, match="segmentation is 'free' and punctuation is true"):
        NewSession(punctuation=True, segmentation="free")
    with pytest.raises(ConfigError, match="segmentation is 'free', but the models of also need sentence ends"):
        NewSession(also=("de-fr",), segmentation="free")
