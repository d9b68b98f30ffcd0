"""Chunks: spans that no link leaves."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turia.training.policy.chunks import ChunkEnd, chunk_ends

# ich habe | das buch | gestern gelesen -> I read the book yesterday: one chunk, as the verb is last.
VERB_LAST = [(0, 0), (2, 2), (3, 3), (4, 4), (5, 1)]


def test_a_monotone_sentence_is_cut_where_both_sides_have_enough_words() -> None:
    links = [(i, i) for i in range(6)]
    assert chunk_ends(links, 6, 6) == [(2, 2), (4, 4), (6, 6)]
    assert chunk_ends(links, 6, 6, least=3) == [(3, 3), (6, 6)]
    assert chunk_ends(links, 6, 6, least=1) == [(n, n) for n in range(1, 7)]


def test_a_verb_at_the_end_keeps_the_sentence_together() -> None:
    assert chunk_ends(VERB_LAST, 6, 5) == [(6, 5)]


def test_words_without_a_link_between_two_chunks_belong_to_the_later_one() -> None:
    assert chunk_ends([(0, 0), (1, 1), (2, 3), (3, 4)], 4, 5) == [(2, 2), (4, 5)]


def test_a_rest_that_is_too_short_joins_the_last_chunk() -> None:
    assert chunk_ends([(i, i) for i in range(5)], 5, 5) == [(2, 2), (5, 5)]
    assert chunk_ends([], 3, 4) == [(3, 4)]


sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))
aligned = sizes.flatmap(
    lambda size: st.tuples(
        st.just(size), st.lists(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)), max_size=15)
    )
)


@given(aligned, st.integers(1, 3))
def test_no_link_leaves_its_chunk(pair: tuple[tuple[int, int], list[tuple[int, int]]], least: int) -> None:
    (source, target), links = pair
    ends = chunk_ends(links, source, target, least)
    assert ends[-1] == (source, target)
    for end in ends:
        assert all((i < end.source) == (j < end.target) for i, j in links)
    if len(ends) > 1:
        spans = [(b.source - a.source, b.target - a.target) for a, b in pairwise([ChunkEnd(0, 0), *ends])]
        assert min(map(min, spans)) >= least
