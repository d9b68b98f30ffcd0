"""What client and server say to each other: JSON texts to frozen dataclasses and back (docs/protocol.md).

Pure: no socket, no clock. `parse_client` takes whatever came over the wire and raises nothing but `ProtocolError`.
Keys that are not known are passed over, so that a later client can say more; an unknown type or a value of another type
is refused. A refusal repeats numbers but no text: refusals may be logged, and logs hold no text of users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from turia.errors import ConfigError, InputError
from turia.policy.lag import parse_target_lag
from turia.policy.table import POLICIES, parse_latency, parse_policy
from turia.policy.waitk import WaitK
from turia.schema import JsonObject, MismatchError, Natural, Rule, Tagged, number, read_json, text, whole
from turia.text.glossary import MOST_TERMS, parse_glossary

PROTOCOL = 1
MAX_BYTES = 64 * 1024
MAX_LETTERS = 200
"""Of a word; the engine looks at no more."""
MAX_NAME = 100
"""Letters of a speaker's name."""
MAX_WORDS = 500
"""Of one message."""
MAX_K = 100
MAX_SEQ = 2**53 - 1
"""The largest number that JavaScript counts to without loss."""


def _is_word(value: str) -> bool:
    # White space would make it several words, and one word is one number.
    return (
        value.split() == [value] and len(value) <= MAX_LETTERS and not any("\ud800" <= one <= "\udfff" for one in value)
    )


def _is_target_lag(value: str) -> bool:
    try:
        parse_target_lag(value)
    except ConfigError:
        return False
    return True


def _is_glossary(value: str) -> bool:
    try:
        parse_glossary(value)
    except ConfigError:
        return False
    return True


def _is_policy(value: str) -> bool:
    try:
        parse_policy(value)
    except ConfigError:
        return False
    return len(value) <= MAX_LETTERS


def _is_latency(value: str) -> bool:
    try:
        policy = parse_latency(value)
    except ConfigError:
        return False
    return len(value) <= MAX_LETTERS and not (isinstance(policy, WaitK) and policy.k > MAX_K)


def _are_different(latencies: tuple[str, ...]) -> bool:
    return len({str(parse_latency(one)) for one in latencies}) == len(latencies) <= MOST_LATENCIES


Seq = Annotated[int, whole(1, MAX_SEQ)]
Lead = Annotated[int, whole(1, MAX_K)]
"""k, as a client may choose it."""
Name = Annotated[str, text(200)]
SpeakerName = Annotated[
    str,
    Rule(lambda value: 0 < len(value) <= MAX_NAME and value.isprintable(), f"a name of 1 to {MAX_NAME} letters"),
]
PolicyText = Annotated[str, Rule(_is_policy, f"a policy: {', '.join(POLICIES)}, each with its parameters")]
"""As people type it: `hold-n:n=3`."""
TargetLagText = Annotated[str, Rule(_is_target_lag, 'a lag of 0.5 to 100 words or seconds, such as "5" or "3s"')]
GlossaryText = Annotated[str, Rule(_is_glossary, f"a table of at most {MOST_TERMS} terms, as docs/terms.md says")]
"""TSV or CSV."""
WireWord = Annotated[
    str, Rule(_is_word, f"a word of 1 to {MAX_LETTERS} letters without white space and half characters")
]
WireWords = Annotated[tuple[WireWord, ...], Rule(lambda value: 1 <= len(value) <= MAX_WORDS, f"1 to {MAX_WORDS} words")]
ClockTime = Annotated[float, Rule(lambda value: abs(value) <= MAX_SEQ, "a number of milliseconds")]
TailWords = Annotated[tuple[WireWord, ...], Rule(lambda value: len(value) <= MAX_WORDS, f"0 to {MAX_WORDS} words")]
PauseSeconds = Annotated[float, number("from 0 to 3600", lambda value: 0 <= value <= 3600)]
LONGEST_ROOM = 60
RoomName = Annotated[
    str,
    Rule(
        lambda value: len(value) <= LONGEST_ROOM and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value) is not None,
        f"a name of at most {LONGEST_ROOM} small letters (a to z), digits and single hyphens, such as main-hall",
    ),
]
"""Of a room, in its address: people read it aloud and type it on phones."""
MOST_TARGETS = 16
ModelNames = Annotated[
    tuple[Name, ...], Rule(lambda value: len(set(value)) == len(value) < MOST_TARGETS, "different names of models")
]
MOST_LATENCIES = 8
LatencyTexts = Annotated[
    tuple[Annotated[str, Rule(_is_latency, "a k, such as 8, or a policy")], ...],
    Rule(_are_different, f"at most {MOST_LATENCIES} different latencies"),
]
Role = Literal["speaker", "viewer"]


class ProtocolError(InputError):
    """A message or a request that cannot be obeyed; `code` is for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


# --- what a client says -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewSession:
    """The body of the request that begins a session; policy, k and model may change while it runs."""

    model: Name | None = None
    """Without it, the server's first."""
    k: Lead | None = None
    """Of wait-k. Without it and without a policy, the model's own policy."""
    punctuation: bool = False
    """Whether sentences end where the punctuation of the input says so."""
    policy: PolicyText | None = None
    """In place of wait-k with this k."""
    pause: PauseSeconds | None = None
    """Seconds of silence after which the server closes a sentence; 0 for never, by default what the server has."""
    target_lag: TargetLagText | None = None
    """The mean lag to keep, by moving the policy's parameter."""
    also: ModelNames = ()
    """Models of the same source language that translate the same words, each in a session of its own."""
    room: RoomName | None = None
    """The room whose audience is to see it."""
    take_room: bool = False
    """Also if somebody speaks in that room already."""
    glossary: GlossaryText | None = None
    """How terms are to be translated, in place of the server's glossary."""
    segmentation: Literal["model", "punctuation", "free"] | None = None
    """Where sentence ends come from: the model's segmenter, the punctuation of the input, or the translation model
    itself, if it was trained for that. `punctuation` is short for the second."""
    latencies: LatencyTexts = ()
    """Further latencies for the audience to choose from: the same words by the same models, each in a session of its
    own."""

    def __post_init__(self) -> None:
        if self.punctuation and self.segmentation not in (None, "punctuation"):
            raise ConfigError(f"segmentation is {self.segmentation!r} and punctuation is true, expected one of them")
        if self.also and self.segmentation == "free":
            raise ConfigError("segmentation is 'free', but the models of also need sentence ends that are told")
        if self.latencies and self.segmentation == "free":
            raise ConfigError("segmentation is 'free', but further latencies need sentence ends that are told")


@dataclass(frozen=True)
class Hello:
    """The first message of a connection: a ticket, and the number of the last event that the client has."""

    protocol: Annotated[int, whole(0, MAX_SEQ)]
    ticket: Name
    have: Annotated[int, whole(0, MAX_SEQ)] = 0
    tentative: bool = False
    """Whether the client wants to be told what may still change."""
    presence: bool = False
    """Whether the client wants to be told when the speaker goes and comes."""


@dataclass(frozen=True)
class Words:
    """Source words; the first has number `seq`, the others follow."""

    seq: Seq
    words: WireWords
    times: tuple[ClockTime, ...] | None = None
    """Milliseconds at which each word was spoken, on the speaker's clock."""

    def __post_init__(self) -> None:
        if self.times is not None and len(self.times) != len(self.words):
            raise ConfigError(f"times has {len(self.times)} entries, expected one for each of {len(self.words)} words")
        if self.seq + len(self.words) > MAX_SEQ:
            raise ConfigError(f"seq is {self.seq}, expected numbers up to {MAX_SEQ} for {len(self.words)} words")


@dataclass(frozen=True)
class Pause:
    """The speaker stopped for a while, or somebody else speaks: the sentence is over."""

    seq: Seq
    speaker: SpeakerName | None = None
    """Who speaks from here on. A server that does not know this key still closes the sentence."""


@dataclass(frozen=True)
class SettingsChange:
    """Another latency from the next sentence on; another direction, or other sentence ends, at once."""

    seq: Seq
    k: Lead | None = None
    """Wait-k from now on."""
    model: Name | None = None
    policy: PolicyText | None = None
    target_lag: TargetLagText | None = None
    """A new k or policy without it is not moved any more."""
    punctuation: bool | None = None
    """Whether sentence ends are taken from the punctuation from now on."""
    glossary: GlossaryText | None = None
    """How terms are to be translated from the next sentence on; an empty text is the server's glossary again."""

    def __post_init__(self) -> None:
        if {self.k, self.model, self.policy, self.target_lag, self.punctuation, self.glossary} == {None}:
            raise ConfigError(
                "settings without k, model, policy, target_lag, punctuation and glossary, expected one or more"
            )
        if self.k is not None and self.policy is not None:
            raise ConfigError("settings with k and with policy, expected one of them: k is short for wait-k")


@dataclass(frozen=True)
class PartialWords:
    """What the recogniser hears after input `after`, and may still revise. It has no number and is not kept."""

    after: Annotated[int, whole(0, MAX_SEQ)]
    words: TailWords = ()


@dataclass(frozen=True)
class Listen:
    """Sound follows, from sample `start` on, which the server is to recognise (turia.protocol.sound)."""

    KEYS: ClassVar = {"start": "from"}

    start: Annotated[int, whole(0, MAX_SEQ)]
    language: Annotated[str, text(20)]
    """Of the speaker."""
    settled: TailWords = ()
    """Words of the sound from `start` on that the server has given already, in an earlier connection."""


@dataclass(frozen=True)
class Hush:
    """No more sound: what is left of it is to be recognised."""


@dataclass(frozen=True)
class EndOfStream:
    """Nothing follows."""

    seq: Seq


@dataclass(frozen=True)
class Ping:
    """Somebody is there; answered with a pong."""


InputMessage = Words | Pause | SettingsChange | EndOfStream
"""What a speaker says; each has a number."""
ClientMessage = Hello | InputMessage | PartialWords | Listen | Hush | Ping
CLIENT: Tagged[ClientMessage] = Tagged(
    {
        "hello": Hello,
        "words": Words,
        "partial": PartialWords,
        "listen": Listen,
        "hush": Hush,
        "pause": Pause,
        "settings": SettingsChange,
        "end": EndOfStream,
        "ping": Ping,
    }
)


def parse_client(data: str | bytes) -> ClientMessage:
    """The message of a client."""
    try:
        message = CLIENT.from_json(read_json(data))
    except MismatchError as error:
        code = "word" if error.key.startswith("words[") else "message"
        raise ProtocolError(code, error.without_text()) from None
    except InputError as error:
        raise ProtocolError("message", str(error)) from None
    if isinstance(message, Hello) and message.protocol != PROTOCOL:
        raise ProtocolError("protocol", f"protocol is {message.protocol}, this server speaks {PROTOCOL}")
    return message


# --- what the server says ---------------------------------------------------------------------------------------------


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
