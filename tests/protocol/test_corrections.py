"""What an operator may say, and the events that it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turia.protocol.client_messages import EndOfStream, Pause, SettingsChange
from turia.protocol.corrections import Correct, Correction, Insert, Insertion, parse_operator
from turia.protocol.events import EVENTS
from turia.protocol.values import ProtocolError


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"type": "correct", "sentence": 3, "words": 7, "text": "The Board."}, Correct(3, 7, "The Board.")),
        ({"type": "correct", "sentence": 0, "words": 2, "text": ""}, Correct(0, 2, "")),
        ({"type": "insert", "before": 4, "text": "[Applause]"}, Insert(4, "[Applause]")),
        ({"type": "insert", "before": 4, "text": "", "number": 1}, Insert(4, "", 1)),
        ({"type": "settings", "k": 8}, SettingsChange(1, k=8)),
        ({"type": "settings", "glossary": "Rat,Board"}, SettingsChange(1, glossary="Rat,Board")),
        ({"type": "pause"}, Pause(1)),
        ({"type": "end"}, EndOfStream(1)),
    ],
)
def test_what_an_operator_may_say(sent: dict[str, Any], meant: object) -> None:
    assert parse_operator(json.dumps(sent)) == meant


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        ("[1]", "expected a JSON object"),
        (
            '{"type":"words","words":["a"]}',
            "type is a string, expected one of 'correct', 'insert', 'mute', 'settings', 'pause', 'end'",
        ),
        ('{"type":["end"]}', "type is a list, expected one of"),
        ("{}", "missing key 'type'"),
        ('{"type":"correct","sentence":-1,"words":1,"text":"a"}', "sentence is -1, expected a number from 0"),
        ('{"type":"correct","sentence":1,"words":1,"text":"a\\nb"}', "expected one line of at most 1000 letters"),
        ('{"type":"correct","sentence":1,"words":1,"text":"a\\u202eb"}', "expected one line of at most 1000 letters"),
        ('{"type":"insert","before":1,"text":"%s"}' % ("x" * 1001), "expected one line of at most 1000 letters"),
        ('{"type":"settings"}', "expected one or more"),
        ('{"type":"settings","glossary":"Rat,Board,never"}', "glossary, line 1: case is 'never'"),
    ],
)
def test_what_is_wrong_is_told(sent: str, complaint: str) -> None:
    with pytest.raises(ProtocolError) as error:
        parse_operator(sent)
    assert complaint in str(error.value)
    assert "xxx" not in str(error.value)


def test_corrections_are_events_of_their_own() -> None:
    for event in (Correction(3, 7, "The Board.", 1200.0), Insertion(0, 4, "[Applause]", 1300.5)):
        assert EVENTS.from_json(EVENTS.to_json(event)) == event
    assert EVENTS.to_line(Correction(3, 7, "ü", 1.0)) == (
        '{"type":"correction","sentence":3,"words":7,"text":"ü","ms":1.0}'
    )
