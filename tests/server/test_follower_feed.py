"""From the events of a session to the inputs of its followers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turia.protocol.client_messages import SettingsChange
from turia.server.follower_feed import FollowerFeed, FollowerInput, whole_inputs

SETTINGS = {"type": "settings", "model": "de-en", "source": "de", "target": "en", "k": 4, "window": 2}


def word(text: str, **others: Any) -> dict[str, Any]:
    return {"type": "source", "word": text, **others}


def sentence(words: int) -> dict[str, Any]:
    return {"type": "sentence", "source_words": words}


WRITE = {"type": "write", "word": "x"}


def test_words_and_sentence_ends_are_passed_on() -> None:
    feed = FollowerFeed("de")
    events = [SETTINGS, word("ka", at=12.5), WRITE, word("le"), sentence(1), WRITE, sentence(1), {"type": "end"}]
    assert feed.inputs(events) == [
        FollowerInput(1, window=2),
        FollowerInput(3, "ka", 12.5),
        FollowerInput(8, "le", lengths=(1, 1), ends=True),
    ]
    assert feed.at == 8


def test_what_brings_nothing_is_left_out() -> None:
    feed = FollowerFeed("de", at=7)
    assert feed.inputs([WRITE, {"type": "note"}, {"type": "of a later release"}]) == []
    assert feed.inputs([sentence(3)]) == [FollowerInput(11, lengths=(3,))]


def test_another_latency_is_passed_on_and_only_that() -> None:
    feed = FollowerFeed("de")
    feed.inputs([SETTINGS])
    assert feed.inputs([SETTINGS | {"punctuation": True, "window": 1}]) == [FollowerInput(2, window=1)]
    assert feed.inputs([SETTINGS | {"k": 7}]) == [FollowerInput(3, window=2, change=SettingsChange(1, k=7))]
    [changed] = feed.inputs([SETTINGS | {"policy": "hold-n:n=3", "target_lag": "3s"}])
    assert changed.change == SettingsChange(1, policy="hold-n:n=3", target_lag="3s")


def test_a_follower_rests_while_another_language_is_spoken() -> None:
    feed = FollowerFeed("de")
    feed.inputs([SETTINGS])
    other = SETTINGS | {"source": "en", "target": "de"}
    assert feed.inputs([other, word("one"), sentence(1), SETTINGS, word("ka")]) == [
        FollowerInput(5, window=2),
        FollowerInput(6, "ka"),
    ]


KINDS = st.sampled_from([SETTINGS, word("ka"), word("le"), WRITE, sentence(1)])


@given(st.lists(KINDS, max_size=30), st.integers(0, 30))
def test_what_is_read_in_parts_is_passed_on_once(events: list[dict[str, Any]], cut: int) -> None:
    whole, parts = FollowerFeed("de"), FollowerFeed("de")
    first = whole_inputs(events[:cut])
    found = parts.inputs(first)
    found += parts.inputs(events[len(first) :])
    assert [item.text for item in found if item.text] == [item.text for item in whole.inputs(events) if item.text]
    assert parts.at == whole.at == len(events)


def test_a_pause_of_the_operator_is_passed_on() -> None:
    feed = FollowerFeed("de")
    events = [SETTINGS, word("ka"), sentence(1), {"type": "note", "kind": "muted", "sentence": 1, "detail": "on"}]
    assert feed.inputs(events) == [FollowerInput(1, window=2), FollowerInput(4, "ka", lengths=(1,), muted=True)]


def test_who_speaks_is_passed_on_behind_the_sentence() -> None:
    feed = FollowerFeed("de")
    named = {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Anna"}
    events = [SETTINGS, word("ka"), sentence(1), named, word("le")]
    assert feed.inputs(events) == [
        FollowerInput(1, window=2),
        FollowerInput(4, "ka", lengths=(1,), speaker="Anna"),
        FollowerInput(5, "le"),
    ]
    assert feed.inputs([named]) == [FollowerInput(6, speaker="Anna")]
