"""Where sentences lie in a stream: 0-based offsets (METHOD section 1).

Sentence n holds the words `offsets[n] .. offsets[n + 1] - 1`; the paper's 1-based a_n is `offsets[n] + 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def offsets(lengths: Sequence[int]) -> list[int]:
    """A[0..N] from sentence lengths: A[n] words lie before sentence n, and A[N] is the whole stream."""
    return list(accumulate(lengths, initial=0))
