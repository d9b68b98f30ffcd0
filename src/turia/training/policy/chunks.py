"""Chunks of a sentence pair: pairs of spans, one after the other, that no alignment link leaves (Bahar et al. 2020).

A chunk can be translated without what follows it, as far as the alignment knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ChunkEnd(NamedTuple):
    """Words of either side up to the end of a chunk."""

    source: int
    target: int


def chunk_ends(links: Sequence[tuple[int, int]], source: int, target: int, least: int = 2) -> list[ChunkEnd]:
    """The smallest chunks of at least `least` words a side and one link, in order; the last one ends both sentences.

    Target words without a link that stand between two chunks belong to the later one.
    """
    before = _furthest_before(links, source)
    after = _nearest_after(links, source, target)
    ends: list[ChunkEnd] = []
    last = ChunkEnd(0, 0)
    for words in range(1, source):
        linked = before[words]
        end = max(linked, last.target + least)
        if words - last.source >= least and linked > last.target and end <= after[words]:
            last = ChunkEnd(words, end)
            ends.append(last)
    # A rest that is too short for a chunk is part of the last one.
    while ends and (source - ends[-1].source < least or target - ends[-1].target < least):
        ends.pop()
    return [*ends, ChunkEnd(source, target)]


def _furthest_before(links: Sequence[tuple[int, int]], source: int) -> list[int]:
    """[source + 1] target words up to the last one that is linked with the first s source words."""
    furthest = [0] * (source + 1)
    for i, j in links:
        furthest[i + 1] = max(furthest[i + 1], j + 1)
    for words in range(1, source + 1):
        furthest[words] = max(furthest[words], furthest[words - 1])
    return furthest


def _nearest_after(links: Sequence[tuple[int, int]], source: int, target: int) -> list[int]:
    """[source + 1] target words before the first one that is linked with a source word after the first s."""
    nearest = [target] * (source + 1)
    for i, j in links:
        nearest[i] = min(nearest[i], j)
    for words in reversed(range(source)):
        nearest[words] = min(nearest[words], nearest[words + 1])
    return nearest
