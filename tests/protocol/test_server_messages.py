"""What the server says: as release 0.1 said it, and with room for what later releases will say."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.protocol.server_messages import (
    SERVER,
    Ack,
    Events,
    GoingAway,
    Notice,
    Pong,
    Refusal,
    ServerMessage,
    TentativeText,
    Welcome,
    parse_server,
)
from turia.protocol.values import ProtocolError
from turia.server.limits import Limits

RECORDED = Path(__file__).parents[1] / "recorded" / "release-0.1"

# Later releases take a recogniser's tail and sound too.
OLD_LIMITS = {key: value for key, value in Limits().for_client().items() if key not in ("tail", "sound")}
# As in tests/recorded/release-0.1/messages.jsonl, line by line.
SAID: list[ServerMessage] = [
    Welcome(1, "name", "speaker", 3, 8, 12.5, OLD_LIMITS),
    Ack(5),
    Events(
        2,
        (
            {"type": "source", "word": "ka", "index": 0, "ms": 100.0, "at": 1000.0},
            {"type": "source", "word": "le", "index": 1, "ms": 100.0, "at": 1400.5},
            {"type": "write", "word": "ka", "index": 0, "read": 2, "sentence": 0, "reason": "policy"}
            | {"ms": 100.0, "at": 1400.5},
        ),
    ),
    Notice("idle", "nothing was said for long", 60.0),
    Refusal("gap", "input 9 came after 3; send from there", True),
    GoingAway(5.0),
    Pong(),
]


def test_the_server_says_what_that_of_release_0_1_said() -> None:
    lines = (RECORDED / "messages.jsonl").read_text(encoding="utf-8").splitlines()
    assert [SERVER.to_line(message) for message in SAID] == lines
    assert [parse_server(line) for line in lines] == SAID


def test_a_client_passes_over_what_a_later_server_adds_and_refuses_what_is_no_message() -> None:
    assert parse_server('{"type":"ack","seq":5,"later":1}') == Ack(5)
    assert parse_server('{"type":"applause"}') is None
    for text in ("<html>", "[]", '{"type":"ack"}', '{"type":"ack","seq":"5"}'):
        with pytest.raises(ProtocolError, match="not a message of a Turia server"):
            parse_server(text)


def test_what_may_still_change_is_a_message() -> None:
    shown = TentativeText(7, ("so",), ("like", "this"))
    assert parse_server(SERVER.to_line(shown)) == shown
