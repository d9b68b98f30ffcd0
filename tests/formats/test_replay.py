"""Recorded streams as moments: which clock, from where, and what cannot be replayed."""

from __future__ import annotations

import json

import pytest

from turia.errors import FormatError
from turia.formats.replay import TimedEvent, moments, recording_lines

HEADER = '{"type":"stream","version":1,"model":"de-en"}'


def write(index: int, **times: float) -> str:
    record = {"type": "write", "word": f"w{index}", "index": index, "read": index, "sentence": 0, "reason": "policy"}
    return json.dumps({**record, **times})


def played(found: list[TimedEvent]) -> list[tuple[float, str]]:
    return [(moment.seconds, str(moment.event.get("word", moment.event["type"]))) for moment in found]


SENTENCE = '{"type":"sentence","sentence":0,"source_words":2,"target_words":2,"reason":"end"}'


def test_a_trace_begins_with_its_first_word_and_never_goes_back() -> None:
    lines = [HEADER, write(0, ms=2500.0), write(1, ms=2400.0), SENTENCE, write(2, ms=3600.0)]
    assert played(moments(lines)) == [(0.0, "w0"), (0.0, "w1"), (0.0, "sentence"), (1.1, "w2")]


def test_the_clock_of_the_speech_is_taken_if_all_words_have_it() -> None:
    both = [HEADER, write(0, ms=10.0, read_seconds=1.5), write(1, ms=12.0, read_seconds=4.0)]
    assert played(moments(both)) == [(0.0, "w0"), (2.5, "w1")]
    some = [HEADER, write(0, ms=10.0, read_seconds=1.5), write(1, ms=12.0)]
    assert played(moments(some)) == [(0.0, "w0"), (0.002, "w1")]


def test_a_recording_has_what_was_said_and_settings_and_what_later_releases_add() -> None:
    events = [
        {"type": "settings", "model": "de-en", "ms": 0.0},
        {"type": "source", "word": "Guten", "index": 0, "ms": 1000.0},
        {"type": "later", "more": 1},
        {"type": "write", "word": "Good", "index": 0, "read": 1, "sentence": 0, "reason": "policy", "ms": 1750.5},
    ]
    lines = list(recording_lines(events))
    assert json.loads(lines[0]) == {"type": "recording", "version": 1}
    found = moments(lines)
    assert played(found) == [(0.0, "settings"), (0.0, "Guten"), (0.0, "later"), (0.75, "Good")]
    assert [moment.event for moment in found] == events


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "feed: empty: expected a trace or a recording"),
        (["[]"], "feed:1: "),
        ([HEADER, write(0)], "feed: word 0 has no time, so it cannot be replayed"),
        (['{"type":"recording","version":2}'], "feed:1: a recording of version 2; this release reads 1"),
        (['{"type":"recording","version":1}', '{"type":"write","ms":1}'], "feed:2: a word is missing"),
        (['{"type":"recording","version":1}', '{"type":"end","ms":"1"}'], "feed:2: ms is no number"),
        (['{"type":"recording","version":1}', '{"type":"end","ms":1' + "0" * 400 + "}"], "feed:2: ms is no number"),
        (['{"type":"recording","version":1}', '{"type":"end","ms":1e15}'], "feed:2: ms is no number of milliseconds"),
        (['{"type":"recording","version":1}', '{"type":"sentence","ms":1}'], "feed:2: a sentence without its numbers"),
        *(
            (
                ['{"type":"recording","version":1}', f'{{"type":"sentence","source_words":{wrong},"target_words":1}}'],
                "feed:2: a sentence without its numbers",
            )
            for wrong in ('"x"', "[]", "null", "1.5", "true", "-1")
        ),
        (["{"], "feed:1: "),
    ],
)
def test_what_cannot_be_replayed_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        moments(lines, "feed")
    assert str(caught.value).startswith(message)
