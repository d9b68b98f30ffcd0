"""The messages of a room's socket."""

from __future__ import annotations

import pytest

from turia.protocol.client_messages import Ping
from turia.protocol.rooms import ROOM, RoomHello, RoomState, parse_viewer
from turia.protocol.values import ProtocolError


def test_a_hello_is_read() -> None:
    text = '{"type":"hello","protocol":1,"languages":["fr","en"],"session":"a","have":3,"of":"later"}'
    assert parse_viewer(text) == RoomHello(1, ("fr", "en"), "a", 3)
    assert parse_viewer('{"type":"ping"}') == Ping()


@pytest.mark.parametrize(
    "text",
    [
        "ka",
        '{"type":"words","seq":1,"words":["ka"]}',
        '{"type":"hello","protocol":2}',
        '{"type":"hello","protocol":1,"have":-1}',
        '{"type":"hello","protocol":1,"languages":[1]}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        parse_viewer(text)


def test_an_empty_room_has_no_session() -> None:
    assert ROOM.to_json(RoomState("a", "A")) == {"type": "room", "name": "a", "title": "A", "languages": []}
