"""The values in messages, their limits, and what is said of one that breaks them (docs/protocol.md).

Each type of value has its rule, which turia.schema checks wherever a message or a request has such a field.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from turia.errors import ConfigError, InputError
from turia.policy.lag import parse_target_lag
from turia.policy.table import POLICIES, parse_latency, parse_policy
from turia.policy.waitk import WaitK
from turia.schema import Rule, has_half_characters, number, text, whole
from turia.text.glossary import MOST_TERMS, parse_glossary

PROTOCOL = 1
MAX_BYTES = 64 * 1024
MAX_LETTERS = 200
"""Of a word; the engine looks at no more."""
MAX_LAG_LETTERS = 20
"""Of a lag to keep, as it is typed."""
MAX_NAME = 100
"""Letters of a speaker's name."""
MAX_WORDS = 500
"""Of one message."""
MAX_K = 100
MAX_SEQ = 2**53 - 1
"""The largest number that JavaScript counts to without loss."""


def _is_word(value: str) -> bool:
    # White space would make it several words, and one word is one number.
    return value.split() == [value] and len(value) <= MAX_LETTERS and not has_half_characters(value)


def _is_target_lag(value: str) -> bool:
    try:
        parse_target_lag(value)
    except ConfigError:
        return False
    # It is part of what is stored at every word, and of what all viewers are told.
    return len(value) <= MAX_LAG_LETTERS


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
