"""From the events of a session to the inputs of its followers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turia.protocol.messages import SettingsChange
from turia.server.relay import Relay, Relayed, whole_inputs

SETTINGS = {"type": "settings", "model": "de-en", "source": "de", "target": "en", "k": 4, "window": 2}


def word(text: str, **others: Any) -> dict[str, Any]:
    return {"type": "source", "word": text, **others}


def sentence(words: int) -> dict[str, Any]:
    return {"type": "sentence", "source_words": words}


WRITE = {"type": "write", "word": "x"}


def test_words_and_sentence_ends_are_relayed() -> None:
    relay = Relay("de")
    events = [SETTINGS, word("ka", at=12.5), WRITE, word("le"), sentence(1), WRITE, sentence(1), {"type": "end"}]
    assert relay.inputs(events) == [
        Relayed(1, window=2),
        Relayed(3, "ka", 12.5),
        Relayed(8, "le", lengths=(1, 1), ends=True),
    ]
    assert relay.at == 8


def test_what_brings_nothing_is_left_out() -> None:
    relay = Relay("de", at=7)
    assert relay.inputs([WRITE, {"type": "note"}, {"type": "of a later release"}]) == []
    assert relay.inputs([sentence(3)]) == [Relayed(11, lengths=(3,))]


def test_another_latency_is_relayed_and_only_that() -> None:
    relay = Relay("de")
    relay.inputs([SETTINGS])
    assert relay.inputs([SETTINGS | {"punctuation": True, "window": 1}]) == [Relayed(2, window=1)]
    assert relay.inputs([SETTINGS | {"k": 7}]) == [Relayed(3, window=2, change=SettingsChange(1, k=7))]
    [changed] = relay.inputs([SETTINGS | {"policy": "hold-n:n=3", "target_lag": "3s"}])
    assert changed.change == SettingsChange(1, policy="hold-n:n=3", target_lag="3s")


def test_a_follower_rests_while_another_language_is_spoken() -> None:
    relay = Relay("de")
    relay.inputs([SETTINGS])
    other = SETTINGS | {"source": "en", "target": "de"}
    assert relay.inputs([other, word("one"), sentence(1), SETTINGS, word("ka")]) == [
        Relayed(5, window=2),
        Relayed(6, "ka"),
    ]


KINDS = st.sampled_from([SETTINGS, word("ka"), word("le"), WRITE, sentence(1)])


@given(st.lists(KINDS, max_size=30), st.integers(0, 30))
def test_what_is_read_in_parts_is_relayed_once(events: list[dict[str, Any]], cut: int) -> None:
    whole, parts = Relay("de"), Relay("de")
    first = whole_inputs(events[:cut])
    found = parts.inputs(first)
    found += parts.inputs(events[len(first) :])
    assert [item.text for item in found if item.text] == [item.text for item in whole.inputs(events) if item.text]
    assert parts.at == whole.at == len(events)


def test_a_pause_of_the_operator_is_relayed() -> None:
    relay = Relay("de")
    events = [SETTINGS, word("ka"), sentence(1), {"type": "note", "kind": "muted", "sentence": 1, "detail": "on"}]
    assert relay.inputs(events) == [Relayed(1, window=2), Relayed(4, "ka", lengths=(1,), muted=True)]


def test_who_speaks_is_relayed_behind_the_sentence() -> None:
    relay = Relay("de")
    named = {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Anna"}
    events = [SETTINGS, word("ka"), sentence(1), named, word("le")]
    assert relay.inputs(events) == [
        Relayed(1, window=2),
        Relayed(4, "ka", lengths=(1,), speaker="Anna"),
        Relayed(5, "le"),
    ]
    assert relay.inputs([named]) == [Relayed(6, speaker="Anna")]
