"""Where sentences lie in a stream: 0-based offsets (METHOD section 1).

Sentence n holds the words `offsets[n] .. offsets[n + 1] - 1`; the paper's 1-based a_n is `offsets[n] + 1`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def offsets(lengths: Sequence[int]) -> list[int]:
    """A[0..N] from sentence lengths: A[n] words lie before sentence n, and A[N] is the whole stream."""
    return list(accumulate(lengths, initial=0))


def sentence_of(position: int, starts: Sequence[int]) -> int:
    """The sentence that holds word `position`, given `starts` from `offsets`; empty sentences hold none."""
    if not 0 <= position < starts[-1]:
        raise IndexError(f"position {position} is outside a stream of {starts[-1]} words")
    return bisect_right(starts, position) - 1
