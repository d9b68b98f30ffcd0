"""What client and server say to each other: JSON texts to frozen dataclasses and back (docs/protocol.md).

Pure: no socket, no clock. `parse_client` takes whatever came over the wire and raises nothing but `ProtocolError`.
Keys that are not known are left alone, so that a later client can say more; an unknown type or an ill-typed
field is refused. Text is never repeated in a refusal: refusals may be logged, and logs hold no user text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, Never

from turia.errors import InputError

PROTOCOL = 1
MAX_BYTES = 64 * 1024
MAX_LETTERS = 200
"""Of a word; the engine looks at no more."""
MAX_WORDS = 500
"""Of one message."""
MAX_K = 100
MAX_SEQ = 2**53 - 1
"""What JavaScript counts without loss."""

Role = Literal["speaker", "viewer"]


class ProtocolError(InputError):
    """A message that is not one; `code` is for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


# --- what a client says -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hello:
    """The first message of a connection: a ticket, and the number of the last event that the client has."""

    ticket: str
    have: int = 0


@dataclass(frozen=True)
class Words:
    """Source words; the first has number `seq`, the others follow."""

    seq: int
    words: tuple[str, ...]
    times: tuple[float, ...] | None = None
    """Milliseconds at which each word was spoken, on the speaker's clock."""


@dataclass(frozen=True)
class Pause:
    """The speaker stopped for a while: the sentence is over."""

    seq: int


@dataclass(frozen=True)
class SettingsChange:
    """Another latency from the next sentence on, or another direction at once."""

    seq: int
    k: int | None = None
    model: str | None = None


@dataclass(frozen=True)
class EndOfStream:
    """Nothing follows."""

    seq: int


@dataclass(frozen=True)
class Ping:
    """Somebody is there; answered with a pong."""


ClientMessage = Hello | Words | Pause | SettingsChange | EndOfStream | Ping


def parse_client(data: str | bytes) -> ClientMessage:
    """The message of a client."""
    fields = _object(data)
    kind = fields.get("type")
    match kind:
        case "hello":
            protocol = _whole(fields, "protocol", 0)
            if protocol != PROTOCOL:
                raise ProtocolError("protocol", f"protocol {protocol} is not spoken here; this server has {PROTOCOL}")
            return Hello(_text(fields, "ticket", 200), _whole(fields, "have", 0) if "have" in fields else 0)
        case "words":
            return _words(fields)
        case "pause":
            return Pause(_whole(fields, "seq", 1))
        case "settings":
            k = _whole(fields, "k", 1, MAX_K) if "k" in fields else None
            model = _text(fields, "model", 200) if "model" in fields else None
            if k is None and model is None:
                raise ProtocolError("message", "settings without k and without model; give at least one")
            return SettingsChange(_whole(fields, "seq", 1), k, model)
        case "end":
            return EndOfStream(_whole(fields, "seq", 1))
        case "ping":
            return Ping()
    raise ProtocolError("message", "unknown type; expected hello, words, pause, settings, end or ping")


def _words(fields: dict[str, Any]) -> Words:
    words = fields.get("words")
    if not isinstance(words, list) or not 1 <= len(words) <= MAX_WORDS:
        raise ProtocolError("message", f"words is not a list of 1 to {MAX_WORDS} words")
    for word in words:
        # One word is one number; white space inside would make it several.
        if not isinstance(word, str) or word.split() != [word]:
            raise ProtocolError("word", "a word is a string without white space, and not empty")
        if len(word) > MAX_LETTERS:
            raise ProtocolError("word", f"a word of {len(word)} letters; at most {MAX_LETTERS} are taken")
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise ProtocolError("word", "a word with half a character (a lone surrogate)")
    times = fields.get("times")
    if times is not None and not (isinstance(times, list) and len(times) == len(words) and all(map(_is_number, times))):
        raise ProtocolError("message", "times is not a list of one number a word")
    seq = _whole(fields, "seq", 1, MAX_SEQ - len(words))
    return Words(seq, tuple(words), None if times is None else tuple(map(float, times)))


# --- what the server says ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Welcome:
    """The answer to a hello: where both sides stand."""

    session: str
    role: Role
    last_input: int
    """Number of the last input that is stored; the speaker goes on after it."""
    last_event: int
    ms: float
    """What the session's clock shows."""
    limits: dict[str, float]


@dataclass(frozen=True)
class Ack:
    """All inputs up to `seq` are stored; the speaker need not keep them."""

    seq: int


@dataclass(frozen=True)
class Events:
    """Events in order; the first has number `seq`. Each is the JSON text of one event."""

    seq: int
    events: tuple[str, ...]


@dataclass(frozen=True)
class Notice:
    """Something will happen unless the client does something."""

    code: str
    message: str
    seconds: float


@dataclass(frozen=True)
class Refusal:
    """The connection ends because of this. What was acknowledged stays; `retry` says whether to come back."""

    code: str
    message: str
    retry: bool = False


@dataclass(frozen=True)
class GoingAway:
    """The server is stopping. All that it acknowledged is stored; come back after `retry_after` seconds."""

    retry_after: float


@dataclass(frozen=True)
class Pong:
    """The answer to a ping."""


ServerMessage = Welcome | Ack | Events | Notice | Refusal | GoingAway | Pong


def format_server(message: ServerMessage) -> str:
    """The JSON text of a server's message."""
    match message:
        case Welcome(session, role, last_input, last_event, ms, limits):
            fields: dict[str, Any] = {"type": "hello", "protocol": PROTOCOL, "session": session, "role": role}
            fields |= {"last_input": last_input, "last_event": last_event, "ms": ms, "limits": limits}
        case Ack(seq):
            fields = {"type": "ack", "seq": seq}
        case Events(seq, events):
            # The events are JSON already, and the same for every viewer.
            return f'{{"type":"events","seq":{seq},"events":[{",".join(events)}]}}'
        case Notice(code, text, seconds):
            fields = {"type": "warning", "code": code, "message": text, "seconds": seconds}
        case Refusal(code, text, retry):
            fields = {"type": "error", "code": code, "message": text, "retry": retry}
        case GoingAway(retry_after):
            fields = {"type": "going-away", "retry_after": retry_after}
        case Pong():
            fields = {"type": "pong"}
    return dumps(fields)


def dumps(fields: dict[str, Any]) -> str:
    """Compact JSON, the same text for the same fields."""
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# --- fields -----------------------------------------------------------------------------------------------------------


def _object(data: str | bytes) -> dict[str, Any]:
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8")
        except UnicodeDecodeError:
            raise ProtocolError("message", "not UTF-8") from None
    try:
        fields = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also a number of 5,000 digits, and brackets 5,000 deep
        raise ProtocolError("message", "not JSON") from None
    if not isinstance(fields, dict):
        raise ProtocolError("message", "not a JSON object")
    return fields


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")


def _whole(fields: dict[str, Any], key: str, least: int, most: int = MAX_SEQ) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ProtocolError("message", f"{key} is not a whole number from {least} to {most}")
    return value


def _text(fields: dict[str, Any], key: str, longest: int) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise ProtocolError("message", f"{key} is not a string of 1 to {longest} letters")
    return value


def _is_number(value: object) -> bool:
    """A number with which one can count; JSON has larger ones."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_SEQ
