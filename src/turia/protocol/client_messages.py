"""What a client says to the server: JSON texts to frozen dataclasses and back (docs/protocol.md).

Pure: no socket, no clock. `parse_client` takes whatever came over the wire and raises nothing but `ProtocolError`.
Keys that are not known are passed over, so that a later client can say more; an unknown type or a value of another type
is refused. A refusal repeats numbers but no text: refusals may be logged, and logs hold no text of users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from turia.errors import ConfigError, InputError
from turia.protocol.values import (
    MAX_SEQ,
    PROTOCOL,
    ClockTime,
    GlossaryText,
    LatencyTexts,
    Lead,
    ModelNames,
    Name,
    PauseSeconds,
    PolicyText,
    ProtocolError,
    RoomName,
    Seq,
    SpeakerName,
    TailWords,
    TargetLagText,
    WireWords,
)
from turia.schema import MismatchError, Tagged, read_json, text, whole


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
