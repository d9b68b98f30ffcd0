"""What a client says: what is well formed is understood, all else is refused as a whole, by one kind of error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.policy.table import POLICIES
from turia.protocol.client_messages import (
    CLIENT,
    ClientMessage,
    EndOfStream,
    Hello,
    PartialWords,
    Pause,
    Ping,
    SettingsChange,
    Words,
    parse_client,
)
from turia.protocol.values import ProtocolError

CLIENT_MESSAGES: list[tuple[dict[str, Any], ClientMessage]] = [
    ({"type": "hello", "protocol": 1, "ticket": "t"}, Hello(1, "t", 0)),
    ({"type": "hello", "protocol": 1, "ticket": "t", "have": 7}, Hello(1, "t", 7)),
    ({"type": "words", "seq": 3, "words": ["guten", "Tag"]}, Words(3, ("guten", "Tag"))),
    ({"type": "words", "seq": 1, "words": ["ja"], "times": [12]}, Words(1, ("ja",), (12.0,))),
    ({"type": "pause", "seq": 9}, Pause(9)),
    ({"type": "settings", "seq": 4, "k": 2}, SettingsChange(4, k=2)),
    ({"type": "settings", "seq": 4, "model": "en-de"}, SettingsChange(4, model="en-de")),
    ({"type": "end", "seq": 5}, EndOfStream(5)),
    ({"type": "ping", "later": "releases may say more"}, Ping()),
]


@pytest.mark.parametrize(("fields", "message"), CLIENT_MESSAGES)
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
        ('{"type":"settings","seq":1,"k":101}', "message"),
        ('{"type":"settings","seq":1,"k":true}', "message"),
        ('{"type":"settings","seq":1,"k":"4"}', "message"),
        ('{"type":"settings","seq":1,"k":4.0}', "message"),
        ('{"type":"pause","seq":' + "9" * 5000 + "}", "message"),
        ("[" * 100_000, "message"),
    ],
)
def test_everything_else_is_refused(text: str | bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        parse_client(text)
    assert refusal.value.code == code


A_POLICY = f"policy is a string, expected a policy: {', '.join(POLICIES)}, each with its parameters"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type":"settings","seq":1,"k":true}', "k is True, expected a whole number from 1 to 100"),
        ('{"type":"settings","seq":1,"k":"secret"}', "k is a string, expected a whole number from 1 to 100"),
        (
            '{"type":"settings","seq":1}',
            "settings without k, model, policy, target_lag, punctuation and glossary, expected one or more",
        ),
        ('{"type":"settings","seq":1,"policy":"secret:n=1"}', A_POLICY),
        ('{"type":"settings","seq":1,"policy":"hold-n:n=-1"}', A_POLICY),
        (
            '{"type":"settings","seq":1,"k":3,"policy":"whole"}',
            "settings with k and with policy, expected one of them: k is short for wait-k",
        ),
        ('{"type":"pause","seq":-3}', "seq is -3, expected a whole number from 1 to 9007199254740991"),
        ('{"type":"pause"}', "missing key 'seq'"),
        (
            '{"type":"secret"}',
            "type is a string, expected one of 'hello', 'words', 'partial', 'listen', 'hush', 'pause', 'settings', "
            "'end', 'ping'",
        ),
        (
            '{"type":"words","seq":1,"words":["ja","secret secret"]}',
            "words[1] is a string, expected a word of 1 to 200 letters without white space and half characters",
        ),
        (
            '{"type":"words","seq":1,"words":["secret"],"times":[1,2]}',
            "times has 2 entries, expected one for each of 1 words",
        ),
        ('{"type":"words","seq":1,"words":"secret"}', "words is a string, expected 1 to 500 words"),
        ('{"type":"secret', "not JSON: Unterminated string starting at at column 9"),
        ('{"type":"hello","protocol":2,"ticket":"secret"}', "protocol is 2, this server speaks 1"),
    ],
)
def test_a_refusal_says_what_was_expected_and_repeats_no_text(text: str, message: str) -> None:
    """Refusals are logged; logs hold no text of users."""
    with pytest.raises(ProtocolError) as refusal:
        parse_client(text)
    assert str(refusal.value) == message


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


@pytest.mark.parametrize("message", [message for _, message in CLIENT_MESSAGES])
def test_what_a_client_of_ours_says_is_understood(message: ClientMessage) -> None:
    assert parse_client(CLIENT.to_line(message)) == message


def test_a_tail_has_no_number_and_may_be_empty() -> None:
    assert parse_client('{"type":"partial","after":3,"words":["so","so"]}') == PartialWords(3, ("so", "so"))
    assert parse_client('{"type":"partial","after":0}') == PartialWords(0)
    with pytest.raises(ProtocolError, match="after"):
        parse_client('{"type":"partial","after":-1,"words":[]}')
    with pytest.raises(ProtocolError, match="words"):
        parse_client('{"type":"partial","after":1,"words":["a b"]}')


def test_only_a_client_that_asks_is_told_what_may_still_change() -> None:
    assert parse_client('{"type":"hello","protocol":1,"ticket":"x"}') == Hello(1, "x", 0, tentative=False)
