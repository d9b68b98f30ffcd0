"""Which past sentence pairs a window keeps (METHOD section 3; the paper's corpus-construction figure)."""

from __future__ import annotations

from collections.abc import Sequence


def history_start(source_lengths: Sequence[int], target_lengths: Sequence[int], limit: int) -> int:
    """Index of the oldest past pair that fits into `limit` words of history (the H of Eq. 2).

    The two sequences hold the word counts of the finished pairs, oldest first. Pairs are added whole, from
    the newest backwards, while both sides stay within `limit`; the first that would pass it ends the search.
    Returns `len(source_lengths)` when none fits. A limit of 0 is the sentence-level system, which keeps
    nothing, not even a pair without words.
    """
    assert len(source_lengths) == len(target_lengths)
    assert limit >= 0
    start = len(source_lengths)
    source = target = 0
    while start > 0 and limit > 0:
        source += source_lengths[start - 1]
        target += target_lengths[start - 1]
        if source > limit or target > limit:
            break
        start -= 1
    return start
