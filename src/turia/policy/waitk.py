"""Wait-k with catch-up (Eqs. 3-5; METHOD sections 2 and 5). One function per equation.

Letters: t = 1-based target word inside its sentence, k = words of lead, gamma = target words per source word.
Counts are whole words. gamma is the decimal that was written: (t - 1) / gamma is an exact fraction, so that
1 + 33 / 1.1 is 31 words and not, by a rounding error, 30.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Literal

Rounding = Literal["floor", "ceil"]


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


def may_write(
    t: int, k: int, sentence_read: int, closed: bool, gamma: float = 1.0, rounding: Rounding = "floor"
) -> bool:
    """Whether target word t may be written when `sentence_read` words of its sentence are visible.

    A closed sentence has been read whole: its rest is written without waiting (the catch-up of METHOD
    section 2). The first action of a sentence is always READ.
    """
    if sentence_read == 0:
        return False
    return closed or sentence_read >= words_needed(t, k, gamma, rounding)
