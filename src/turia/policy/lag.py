"""The latency controller: keeps the mean lag of the last minutes at a target by moving the policy's parameter.

The lag of a sentence is its AL: the mean, over the words that were written before its source was complete and the first
one after that, of the source words read beyond those that the target words so far stand for. So the mean is close to
what `turia evaluate` calls AL. In seconds it is that, divided by the pace of the speaker at the time.

Between two sentences the parameter is moved if two means are on the same side of the target: that of the last minutes,
and that of the newest sentences since the last move. The second one keeps it from moving on because of what was before.
No clock in here: whoever knows when words were spoken says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from turia.errors import ConfigError
from turia.policy.base import Policy

USUAL_PACE = 2.5
"""Source words a second, before anybody knows better."""
_PACES = (0.2, 8.0)
"""Slowest and quickest that somebody speaks; words of a file come quicker."""
MINUTES = 2
RECENT_SECONDS = 60.0 * MINUTES
TOLERANCE = 0.25
"""Words off the target that are no reason to move."""
LEAST_WORDS, NEWEST_WORDS = 10, 60
"""Of the source, that are translated before the parameter is moved again; of which the newest count."""
PACE_SECONDS = 30.0
"""Over which the pace is taken."""
MOST_STEPS = 4
"""By which it is moved at once."""
Unit = Literal["words", "s"]
_TARGET = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(s|words?)?")


@dataclass(frozen=True)
class TargetLag:
    """A lag to keep: `5` (source words) or `3s` (seconds)."""

    value: float
    unit: Unit = "words"

    def __post_init__(self) -> None:
        if not 0.5 <= self.value <= 100:
            raise ConfigError(f"target_lag is {self}, expected 0.5 to 100 words or seconds")

    def __str__(self) -> str:
        return f"{self.value:g}{'s' if self.unit == 's' else ''}"


def parse_target_lag(value: Any) -> TargetLag:
    """The target that `5`, `"5"` or `"3s"` means."""
    if isinstance(value, TargetLag):
        return value
    match = None if isinstance(value, bool) else _TARGET.fullmatch(str(value).strip())
    if match is None:
        raise ConfigError(f"target_lag is {value!r}, expected words such as 5, or seconds such as 3s")
    return TargetLag(float(match[1]), "s" if match[2] == "s" else "words")


def sentence_lag(delays: Sequence[int], source_words: int) -> float:
    """AL of a finished sentence: `delays` are the source words since its beginning that had been read at each target
    word, those after its end included."""
    assert delays
    per_word = source_words / len(delays)
    counted = next((t + 1 for t, delay in enumerate(delays) if delay >= source_words), len(delays))
    return sum(delay - t * per_word for t, delay in enumerate(delays[:counted])) / counted


class Finished(NamedTuple):
    """A sentence that was translated."""

    words: int
    """Of the source."""
    lag: float
    """In source words."""
    pace: float
    """Of the speaker, in source words a second."""

    def lag_in(self, unit: Unit) -> float:
        return self.lag if unit == "words" else self.lag / self.pace


@dataclass
class LagController:
    """Moves a policy between sentences, from what it remembers of the last minutes."""

    recent: list[Finished] = field(default_factory=list)
    """The newest sentences, oldest first."""
    times: list[tuple[int, float]] = field(default_factory=list)
    """Source words read, and seconds of the speech, about once a second; empty without times."""
    settled: int = 0
    """Of `recent`, the sentences since the parameter was last moved."""

    def heard(self, read: int, seconds: float) -> None:
        """Notes that so many source words had been read at this second of the speech."""
        if self.times and seconds < self.times[-1][1]:
            return
        self.times.append((read, seconds))
        if len(self.times) > 2 and seconds - self.times[-3][1] < 1.0:
            del self.times[-2]
        while len(self.times) > 2 and seconds - self.times[1][1] > PACE_SECONDS:
            del self.times[0]

    def pace(self) -> float:
        """The speaker's pace of late, in source words a second."""
        if len(self.times) < 2:
            return USUAL_PACE
        (first, begin), (last, end) = self.times[0], self.times[-1]
        pace = (last - first) / max(end - begin, 0.001)
        return pace if _PACES[0] <= pace <= _PACES[1] else USUAL_PACE

    def sentence(self, source_words: int, delays: Sequence[int]) -> None:
        """Notes a finished sentence."""
        if not delays:
            return
        self.recent.append(Finished(source_words, sentence_lag(delays, source_words), self.pace()))
        self.settled += 1
        while len(self.recent) > 1 and sum(one.words / one.pace for one in self.recent[1:]) >= RECENT_SECONDS:
            del self.recent[0]
        self.settled = min(self.settled, len(self.recent))

    def mean(self, unit: Unit = "words") -> float | None:
        """The mean lag of the last minutes, each sentence by its length."""
        return _mean(self.recent, unit)

    def next_policy(self, policy: Policy, target: TargetLag) -> Policy:
        """The policy for the next sentence: the same, or one with a lag nearer to the target."""
        newest = _newest(self.recent[len(self.recent) - self.settled :])
        mean, now = self.mean(target.unit), _mean(newest, target.unit)
        if mean is None or now is None or sum(one.words for one in newest) < LEAST_WORDS:
            return policy
        words = 1.0 if target.unit == "words" else self.pace()
        off, off_now = (target.value - mean) * words, (target.value - now) * words
        if abs(off) <= TOLERANCE or off * off_now <= 0:
            return policy
        steps = max(1, min(MOST_STEPS, int(abs(off_now))))
        moved = policy.moved(steps if off > 0 else -steps)
        if moved != policy:
            self.settled = 0
        return moved

    def to_json(self) -> dict[str, Any]:
        return {
            "recent": [list(one) for one in self.recent],
            "times": [list(one) for one in self.times],
            "settled": self.settled,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LagController:
        """What `to_json` gave; anything else is a ValueError."""
        recent = [Finished(words, float(lag), float(pace)) for words, lag, pace in data["recent"]]
        times = [(read, float(seconds)) for read, seconds in data["times"]]
        settled = data["settled"]
        counts = [settled, *(one.words for one in recent), *(read for read, _ in times)]
        good = (
            all(type(number) is int and number >= 0 for number in counts)
            and settled <= len(recent)
            and all(one.words > 0 and one.pace > 0 for one in recent)
            and all(math.isfinite(number) for one in recent for number in one)
            and all(math.isfinite(seconds) for _, seconds in times)
        )
        if not good:
            raise ValueError("expected the words and lags of the last minutes")
        return cls(recent, times, settled)


def _newest(sentences: Sequence[Finished]) -> Sequence[Finished]:
    """The last sentences that together have the words that count."""
    words = 0
    for place in range(len(sentences) - 1, -1, -1):
        words += sentences[place].words
        if words >= NEWEST_WORDS:
            return sentences[place:]
    return sentences


def _mean(sentences: Sequence[Finished], unit: Unit) -> float | None:
    total = sum(one.words for one in sentences)
    return sum(one.words * one.lag_in(unit) for one in sentences) / total if total else None
