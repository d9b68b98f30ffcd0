"""Events: those of release 0.1 are read, and ours are the same to the letter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turia.errors import ConfigError
from turia.protocol.events import EVENTS, SettingsInForce, SourceWord
from turia.stream.trace import End, Note, SentenceEnd, Write

RECORDED = Path(__file__).parents[1] / "recorded" / "release-0.1" / "events.jsonl"


def test_events_of_release_0_1_are_read_and_written_to_the_letter() -> None:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    events = [EVENTS.from_json(json.loads(line)) for line in lines]
    assert [EVENTS.to_line(event) for event in events] == lines
    assert {type(event) for event in events} == {SettingsInForce, SourceWord, Write, SentenceEnd, Note, End}
    assert events[1] == SourceWord("ka", 0, 100.0, 1000.0)
    assert events[3] == Write("ka", 0, 2, 0, "policy", 100.0, at=1400.5)
    assert events[-1] == End(8, 8, 3000.5)


def test_an_event_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^index is -1, expected a whole number from 0$"):
        EVENTS.from_json({"type": "source", "word": "ka", "index": -1, "ms": 1.0})
    with pytest.raises(ConfigError, match=r"^type is 'song', expected one of 'settings', 'source', 'correction'"):
        EVENTS.from_json({"type": "song"})
