"""What the server says to a client: frozen dataclasses to JSON texts and back (docs/protocol.md).

Pure: no socket, no clock. `parse_server` passes over types and keys that only later releases know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from turia.errors import InputError
from turia.protocol.values import ProtocolError, Role
from turia.schema import JsonObject, Natural, Tagged, read_json


@dataclass(frozen=True)
class Welcome:
    """The answer to a hello: where both sides stand."""

    KEYS: ClassVar = {"session_id": "session"}

    protocol: int
    session_id: str
    role: Role
    last_input: Natural
    """Number of the last input that is stored; the speaker goes on after it."""
    last_event: Natural
    ms: float
    """What the session's clock shows."""
    limits: JsonObject


@dataclass(frozen=True)
class Ack:
    """All inputs up to `seq` are stored; the speaker need not keep them."""

    seq: Natural


@dataclass(frozen=True)
class Events:
    """Events in order, each as it is stored (see `events`); the first has number `seq`."""

    seq: Natural
    events: tuple[JsonObject, ...]


@dataclass(frozen=True)
class TentativeText:
    """What may still change, behind event `after`: for the eye alone. The next one takes its place."""

    after: Natural
    source: tuple[str, ...] = ()
    """The recogniser's tail."""
    target: tuple[str, ...] = ()
    """What would be written for it."""


@dataclass(frozen=True)
class Presence:
    """Whether the speaker is connected."""

    speaker: bool


@dataclass(frozen=True)
class Listening:
    """The server listens from sample `start` on. No more than `window` samples may be sent ahead of `taken`."""

    KEYS: ClassVar = {"start": "from"}

    start: Natural
    window: Natural


@dataclass(frozen=True)
class HeardWords:
    """What the recogniser has understood: the client sends it back as `words`, `partial` and `pause`, in this order."""

    taken: Natural
    """The recogniser has heard the samples before this one."""
    keep: Natural
    """Sound before this sample is not needed any more, in whatever connection the session goes on."""
    settled: Natural = 0
    """How many of the newest final words were spoken after that."""
    words: tuple[str, ...] = ()
    """New final words."""
    times: tuple[float, ...] = ()
    """Milliseconds at which each ended, on the clock of the samples."""
    partial: tuple[str, ...] | None = None
    """What follows them and may still change; None for no change."""
    pause: bool = False
    """Whether the speaker has stopped after that."""
    over: bool = False
    """All sound is recognised; the server does not listen any more."""


@dataclass(frozen=True)
class SoundTrouble:
    """What is wrong with the sound, or with the server's hearing. If it is `over`, the server does not listen."""

    code: str
    message: str
    over: bool = False


@dataclass(frozen=True)
class Notice:
    """Something will happen unless the client does something."""

    code: str
    message: str
    seconds: float


@dataclass(frozen=True)
class Refusal:
    """The connection ends because of this. What was acknowledged stays; `retry` says whether to reconnect."""

    code: str
    message: str
    retry: bool = False


@dataclass(frozen=True)
class GoingAway:
    """The server is stopping. All that it acknowledged is stored; reconnect after `retry_after` seconds."""

    retry_after: float


@dataclass(frozen=True)
class Pong:
    """The answer to a ping."""


ServerMessage = (
    Welcome
    | Ack
    | Events
    | TentativeText
    | Presence
    | Listening
    | HeardWords
    | SoundTrouble
    | Notice
    | Refusal
    | GoingAway
    | Pong
)
SERVER: Tagged[ServerMessage] = Tagged(
    {
        "hello": Welcome,
        "ack": Ack,
        "events": Events,
        "tentative": TentativeText,
        "presence": Presence,
        "listening": Listening,
        "heard": HeardWords,
        "sound": SoundTrouble,
        "warning": Notice,
        "error": Refusal,
        "going-away": GoingAway,
        "pong": Pong,
    }
)


def parse_server(data: str | bytes) -> ServerMessage | None:
    """The message of a server; None for a type that only later releases know."""
    try:
        found = read_json(data)
        kind = found.get("type")
        return SERVER.from_json(found) if isinstance(kind, str) and kind in SERVER.kinds else None
    except InputError as error:
        raise ProtocolError("message", f"not a message of a Turia server: {error}") from error
