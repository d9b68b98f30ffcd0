"""Wait-k with catch-up (Eqs. 3-5; METHOD sections 2 and 5). One function per equation.

Letters: t = 1-based target word inside its sentence, k = words of lead, gamma = target words per source word.
Counts are whole words. gamma is the decimal that was written: (t - 1) / gamma is an exact fraction, so that
1 + 33 / 1.1 is 31 words and not, by a rounding error, 30.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Annotated, ClassVar, Literal

from turia.policy.base import CountingPolicy, Situation
from turia.schema import number, whole

Rounding = Literal["floor", "ceil"]
MOST_WORDS = 1_000_000
"""More than any speech has; of k and of the history alike."""
Ratio = Annotated[float, number("from 0.1 to 10", lambda value: 0.1 <= value <= 10)]
"""Target words per source word."""
Lead = Annotated[int, whole(1, MOST_WORDS)]


@lru_cache(maxsize=64)
def _fraction(gamma: float) -> Fraction:
    return Fraction(str(gamma))


@lru_cache(maxsize=2**14)
def _caught_up(words: int, gamma: float, rounding: Rounding) -> int:
    """Source words that so many target words stand for. Remembered: training asks for the same few at every row."""
    needed = words / _fraction(gamma)
    return floor(needed) if rounding == "floor" else ceil(needed)


def words_needed(t: int, k: int, gamma: float = 1.0, rounding: Rounding = "floor") -> int:
    """g(t) = floor(k + (t - 1) / gamma) (Eq. 4; with gamma = 1, Eq. 3). The authors' code rounds up."""
    assert t >= 1
    assert k >= 1
    assert gamma > 0
    return k + _caught_up(t - 1, gamma, rounding)


@dataclass(frozen=True)
class WaitK(CountingPolicy):
    """Stays k source words ahead of the target words, gamma of which stand for one source word."""

    name: ClassVar[str] = "wait-k"
    movable: ClassVar[bool] = True
    k: Lead = 4
    gamma: Ratio | None = None
    """In place of the stream's."""
    rounding: Rounding = "floor"

    def moved(self, steps: int) -> WaitK:
        """Another k."""
        return replace(self, k=min(max(1, self.k + steps), MOST_WORDS))

    def may_write(self, at: Situation) -> bool:
        """Whether k + written / gamma words of the sentence have been read. Its first action is always READ."""
        return at.read >= words_needed(at.written + 1, self.k, self.gamma or at.gamma, self.rounding)
