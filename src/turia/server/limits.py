"""How much a client may ask for, and the rate at which it may ask. Pure: the caller passes the time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from turia.engine.tail import LONGEST_TAIL
from turia.errors import InputError
from turia.protocol.sound import SOUND
from turia.protocol.values import MAX_BYTES, MAX_LETTERS, MAX_WORDS


@dataclass(frozen=True)
class Limits:
    """What the server holds clients to. Times are in seconds."""

    OLD_KEYS: ClassVar = {"streams_a_key": "streams_per_key", "words_a_second": "words_per_second"}
    """In the args of a Ray Serve config file of release 0.1."""

    streams: int = 16
    """Streams at once; past it new ones are refused."""
    streams_per_key: int = 16
    sockets: int = 2000
    """WebSockets at once, viewers included."""
    strangers: int = 64
    """WebSockets of one address that have not said hello yet."""
    requests: int = 500
    """HTTP connections at once, besides the sockets."""
    request: float = 10.0
    """Time for a request to come whole, headers and body."""
    unacknowledged: int = 1000
    """Inputs that a speaker may have sent before they are acknowledged."""
    words_per_second: float = 50.0
    """Words are taken no faster than this; the socket is not read meanwhile."""
    burst: float = 500.0
    """Words that may come at once after a silence."""
    hello: float = 10.0
    """Time for the first message."""
    ticket: float = 30.0
    """Time for using a ticket."""
    idle: float = 1800.0
    """Silence after which a speaker is disconnected; the session can be resumed."""
    idle_warning: float = 60.0
    """How long before that a warning comes."""
    arrive: float = 5.0
    """A new session keeps a place for so long until its speaker comes; later it depends on who came meanwhile."""
    grace: float = 30.0
    """A speaker who lost the connection keeps the place for so long."""
    stall: float = 20.0
    """A reader that takes nothing for so long is disconnected."""
    drain: float = 10.0
    """Time for finishing what was sent when the server stops."""
    retry_after: float = 5.0
    """When a client that was refused is to try again."""
    pause: float = 0.0
    """Silence of a speaker that closes a sentence, where the client has not chosen; 0 for never."""
    keep: float = 7 * 86400.0
    """Sessions that nobody has used for so long are deleted."""
    large: float = 128 * 1024.0
    """Bytes of large messages, such as glossaries, that one key may send at once; later at a rate."""
    steered: float = 20.0
    """Changes that operators may ask of one session at once; later at a rate."""
    quota: int = 0
    """Bytes that the sessions of one key may take in the store; 0 for no limit."""

    def retry_header(self) -> dict[str, str]:
        """The header that says when to try again."""
        return {"Retry-After": str(max(1, round(self.retry_after)))}

    def for_client(self) -> dict[str, float]:
        """What a client should know, under its keys on the wire."""
        return {
            "bytes": MAX_BYTES,
            "words": MAX_WORDS,
            "letters": MAX_LETTERS,
            "unacknowledged": self.unacknowledged,
            "words_a_second": self.words_per_second,
            "idle": self.idle,
            "tail": LONGEST_TAIL,
            "sound": SOUND,
        }


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
SHORTEST_KEEP = 60.0


def parse_time(text: str, option: str) -> float:
    """Seconds of a time such as 90m, 12h, 7d or 2w; at least a minute, at most a hundred years."""
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", text)
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if not SHORTEST_KEEP <= seconds <= 100 * 366 * UNITS["d"]:
        raise InputError(f"{option} {text}: expected a time from 1m on, such as 90m, 12h, 7d or 2w")
    return float(seconds)


class Strangers:
    """How many of each address are awaited, and no more than `most` of one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count: Counter[str] = Counter()

    def room_for(self, address: str) -> bool:
        return self._count[address] < self._most

    @contextmanager
    def awaited_from(self, address: str) -> Iterator[None]:
        """One more, until the block ends."""
        self._count[address] += 1
        try:
            yield
        finally:
            self._count[address] -= 1
            if not self._count[address]:
                del self._count[address]


LARGE_MESSAGE = 8 * 1024
"""Bytes. Five hundred words are less; tables of terms may be more, and take some ten milliseconds to read."""
LARGE_REQUEST = 2 * 1024
"""Bytes of an HTTP request that begins or steers a session. Only tables of terms are longer."""
BYTES_PER_WORD = 64
"""Bytes of a message that count for a word of the speaker's rate, if it has fewer words: small tables are many too."""
LARGE_PER_SECOND = 8 * 1024.0
"""Bytes of large messages of one key, after `Limits.large` at once."""
STEERED_PER_SECOND = 10.0
"""What operators ask of one session, after `Limits.steered` at once."""
SMALL_MESSAGE = 4 * 1024
"""Bytes. A hello, or what a viewer may say, is no longer."""
LISTEN_WORDS = 25
"""What asking to be listened to counts for: a recogniser is made ready."""
MOST_NAMES = 10_000


def words_for(words: int, data: str | bytes) -> int:
    """What a message of so many words counts for in the rate of its speaker."""
    return max(1, words, len(data) // BYTES_PER_WORD)


class Rates:
    """A bucket for each name. From an empty one nothing is taken."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, Bucket] = {}

    def wait(self, name: str, count: float, now: float) -> float:
        """Takes `count` and gives 0, or gives the seconds after which to try again."""
        if name not in self._buckets:
            if len(self._buckets) >= MOST_NAMES:
                self._buckets = {kept: bucket for kept, bucket in self._buckets.items() if not bucket.is_full(now)}
            self._buckets[name] = Bucket(self._rate, self._burst, now)
        rest = self._buckets[name].take(0, now)
        if rest == 0.0:
            self._buckets[name].take(count, now)
        return rest


class Bucket:
    """A rate with a burst: a token bucket."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._now = burst, now

    def take(self, count: float, now: float) -> float:
        """Takes `count`; the seconds to wait before more may be taken."""
        self._level = min(self._burst, self._level + self._rate * max(0.0, now - self._now)) - count
        self._now = now
        return max(0.0, -self._level / self._rate)

    def is_full(self, now: float) -> bool:
        """Whether nothing was taken for long: a new one would be the same."""
        self.take(0, now)
        return self._level >= self._burst
