"""Guards against a model that loops or runs away (METHOD section 2). Pure functions of words and counts."""

from __future__ import annotations

from collections.abc import Sequence

LENGTH_BASE, LENGTH_FACTOR, GAMMA_FACTOR = 10, 2.5, 1.5
REPEATS, ORDERS = 5, range(2, 7)
RATIO_LOW, RATIO_HIGH, RATIO_FROM = 0.4, 3.0, 10


def length_limit(source_words: int, gamma: float = 1.0) -> int:
    """Target words that a sentence of `source_words` may have: a + b * words, with half as many again as gamma asks."""
    return int(LENGTH_BASE + max(LENGTH_FACTOR, GAMMA_FACTOR * gamma) * source_words)


def repeats_at_end(words: Sequence[str], order: int) -> int:
    """How often the last `order` words stand there in a row."""
    unit = list(words[-order:])
    count, end = 0, len(words)
    while end >= order and list(words[end - order : end]) == unit:
        count, end = count + 1, end - order
    return count


def loops(words: Sequence[str]) -> bool:
    """Whether the words just written end in an n-gram of order 2 to 6 that stands there more than 5 times."""
    # Most words are too few, or end in what did not stand there before: so much is seen at once.
    length = len(words)
    return any(
        words[-1] == words[-1 - order] and repeats_at_end(words, order) > REPEATS
        for order in ORDERS
        if length > REPEATS * order
    )


def degenerate(source_words: int, target: Sequence[str], gamma: float = 1.0) -> bool:
    """Whether a finished sentence is unfit as history: a repeated n-gram, or a length ratio out of bounds.

    The bounds give way where gamma, the ratio that is expected, is close to one or beyond it.
    """
    if any(_most_repeated(target, order) > REPEATS for order in ORDERS):
        return True
    if source_words <= RATIO_FROM or len(target) <= RATIO_FROM:
        return False
    low, high = min(RATIO_LOW, gamma / GAMMA_FACTOR), max(RATIO_HIGH, GAMMA_FACTOR * gamma)
    return not low <= len(target) / source_words <= high


def _most_repeated(words: Sequence[str], order: int) -> int:
    counts: dict[tuple[str, ...], int] = {}
    for start in range(len(words) - order + 1):
        unit = tuple(words[start : start + order])
        counts[unit] = counts.get(unit, 0) + 1
    return max(counts.values(), default=0)
