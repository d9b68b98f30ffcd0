"""Messages: what is well formed is understood, anything else is refused as a whole, by one kind of error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.server.messages import (
    Ack,
    ClientMessage,
    EndOfStream,
    Events,
    GoingAway,
    Hello,
    Notice,
    Pause,
    Ping,
    Pong,
    ProtocolError,
    Refusal,
    SettingsChange,
    Welcome,
    Words,
    format_server,
    parse_client,
)

CLIENT: list[tuple[dict[str, Any], ClientMessage]] = [
    ({"type": "hello", "protocol": 1, "ticket": "t"}, Hello("t", 0)),
    ({"type": "hello", "protocol": 1, "ticket": "t", "have": 7}, Hello("t", 7)),
    ({"type": "words", "seq": 3, "words": ["guten", "Tag"]}, Words(3, ("guten", "Tag"))),
    ({"type": "words", "seq": 1, "words": ["ja"], "times": [12]}, Words(1, ("ja",), (12.0,))),
    ({"type": "pause", "seq": 9}, Pause(9)),
    ({"type": "settings", "seq": 4, "k": 2}, SettingsChange(4, k=2)),
    ({"type": "settings", "seq": 4, "model": "en-de"}, SettingsChange(4, model="en-de")),
    ({"type": "end", "seq": 5}, EndOfStream(5)),
    ({"type": "ping", "later": "releases may say more"}, Ping()),
]


@pytest.mark.parametrize(("fields", "message"), CLIENT)
def test_messages_are_understood(fields: dict[str, Any], message: ClientMessage) -> None:
    assert parse_client(json.dumps(fields)) == message
    assert parse_client(json.dumps(fields).encode()) == message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "message"),
        ("[]", "message"),
        ("nonsense", "message"),
        (b"\xff", "message"),
        ('{"type":"sing"}', "message"),
        ('{"type":["words"]}', "message"),
        ('{"type":"hello","protocol":2,"ticket":"t"}', "protocol"),
        ('{"type":"hello","protocol":1,"ticket":""}', "message"),
        ('{"type":"hello","protocol":true,"ticket":"t"}', "message"),
        ('{"type":"hello","protocol":1,"ticket":"t","have":-1}', "message"),
        ('{"type":"words","seq":0,"words":["a"]}', "message"),
        ('{"type":"words","seq":1.0,"words":["a"]}', "message"),
        ('{"type":"words","seq":1,"words":[]}', "message"),
        ('{"type":"words","seq":1,"words":"a"}', "message"),
        ('{"type":"words","seq":1,"words":[1]}', "word"),
        ('{"type":"words","seq":1,"words":["a b"]}', "word"),
        ('{"type":"words","seq":1,"words":["a\\u2028"]}', "word"),
        ('{"type":"words","seq":1,"words":["\\ud800"]}', "word"),
        (json.dumps({"type": "words", "seq": 1, "words": ["a" * 201]}), "word"),
        (json.dumps({"type": "words", "seq": 1, "words": ["a"] * 501}), "message"),
        ('{"type":"words","seq":9007199254740991,"words":["a"]}', "message"),
        ('{"type":"words","seq":1,"words":["a"],"times":[1,2]}', "message"),
        ('{"type":"words","seq":1,"words":["a"],"times":[NaN]}', "message"),
        ('{"type":"words","seq":1,"words":["a"],"times":[1e999]}', "message"),
        ('{"type":"words","seq":1,"words":["a"],"times":[true]}', "message"),
        ('{"type":"pause"}', "message"),
        ('{"type":"settings","seq":1}', "message"),
        ('{"type":"settings","seq":1,"k":0}', "message"),
        ('{"type":"pause","seq":' + "9" * 5000 + "}", "message"),
        ("[" * 100_000, "message"),
    ],
)
def test_everything_else_is_refused(text: str | bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        parse_client(text)
    assert refusal.value.code == code


def test_a_refusal_does_not_repeat_what_was_said() -> None:
    """Refusals are logged; logs hold no user text."""
    with pytest.raises(ProtocolError) as refusal:
        parse_client('{"type":"words","seq":1,"words":["geheim geheim"]}')
    assert "geheim" not in str(refusal.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["type", "protocol", "ticket", "have", "seq", "words", "times", "k", "model"]
near_messages = st.fixed_dictionaries(
    {"type": st.sampled_from(["hello", "words", "pause", "settings", "end", "ping"]) | json_values},
    optional={key: json_values | st.integers(0, 3) | st.lists(st.text(max_size=3), max_size=3) for key in KEYS[1:]},
)


@given(st.binary() | st.text() | near_messages.map(json.dumps) | json_values.map(json.dumps))
def test_no_input_raises_anything_else(data: str | bytes) -> None:
    try:
        message = parse_client(data)
    except ProtocolError:
        return
    assert isinstance(message, Hello | Words | Pause | SettingsChange | EndOfStream | Ping)


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (
            Welcome("s", "speaker", 3, 8, 12.5, {"unacknowledged": 4}),
            {"type": "hello", "protocol": 1, "session": "s", "role": "speaker", "last_input": 3}
            | {"last_event": 8, "ms": 12.5, "limits": {"unacknowledged": 4}},
        ),
        (Ack(5), {"type": "ack", "seq": 5}),
        (Events(2, ('{"x":1}', '{"y":"ü"}')), {"type": "events", "seq": 2, "events": [{"x": 1}, {"y": "ü"}]}),
        (Notice("idle", "m", 60), {"type": "warning", "code": "idle", "message": "m", "seconds": 60}),
        (Refusal("gap", "m"), {"type": "error", "code": "gap", "message": "m", "retry": False}),
        (GoingAway(2), {"type": "going-away", "retry_after": 2}),
        (Pong(), {"type": "pong"}),
    ],
)  # fmt: skip
def test_the_server_speaks_json(message: Any, fields: dict[str, Any]) -> None:
    assert json.loads(format_server(message)) == fields
