"""What a viewer's page and the server say to each other on the socket of a room (docs/protocol.md).

A room's socket is a session's socket with two differences: its hello names no ticket, as everybody may watch, and the
message `room` says which session is shown from here on. It comes first, and again whenever that changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from turia.errors import InputError
from turia.protocol.client_messages import Ping
from turia.protocol.values import MAX_SEQ, PROTOCOL, Name, ProtocolError
from turia.schema import JsonObject, MismatchError, Rule, Tagged, read_json, whole

LanguageCodes = Annotated[
    tuple[Name, ...], Rule(lambda value: len(value) <= 20, "at most 20 codes of languages, the best first")
]


@dataclass(frozen=True)
class RoomHello:
    """The first message of a viewer."""

    protocol: Annotated[int, whole(0, MAX_SEQ)]
    languages: LanguageCodes = ()
    """What the viewer would like to read; without any of them, the first that there is."""
    session: Name | None = None
    """The session that the viewer has seen last."""
    have: Annotated[int, whole(0, MAX_SEQ)] = 0
    """Number of the last event of it that the viewer has."""
    tentative: bool = False
    presence: bool = False
    """Whether the viewer is to be told when the speaker goes and comes."""


@dataclass(frozen=True)
class RoomState:
    """What the room shows: the events that follow are of this session, from what the viewer has of it."""

    KEYS: ClassVar = {"session_id": "session"}

    name: str
    title: str
    session_id: str | None = None
    """None where nobody has spoken yet."""
    language: str | None = None
    """What the session translates into."""
    languages: tuple[JsonObject, ...] = ()
    """All that there are: `language` and `session` of each."""


VIEWER: Tagged[RoomHello | Ping] = Tagged({"hello": RoomHello, "ping": Ping})
ROOM: Tagged[RoomState] = Tagged({"room": RoomState})


def parse_viewer(data: str | bytes) -> RoomHello | Ping:
    """The message of a viewer in a room."""
    try:
        message = VIEWER.from_json(read_json(data))
    except MismatchError as error:
        raise ProtocolError("message", error.without_text()) from None
    except InputError as error:
        raise ProtocolError("message", str(error)) from None
    if isinstance(message, RoomHello) and message.protocol != PROTOCOL:
        raise ProtocolError("protocol", f"protocol is {message.protocol}, this server speaks {PROTOCOL}")
    return message
