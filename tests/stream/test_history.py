"""History: whole pairs, from the newest backwards, within h words on both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.stream.history import history_start

pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20)
limits = st.integers(0, 60)


@pytest.mark.parametrize(
    ("source", "target", "limit", "start"),
    [
        ([3, 4, 2], [3, 4, 2], 6, 1),  # 2 + 4 fit exactly, 3 more would not
        ([3, 4, 2], [3, 4, 2], 5, 2),
        ([3, 4, 2], [3, 4, 2], 100, 0),
        ([3, 4, 2], [3, 5, 2], 6, 2),  # the target side alone passes the limit: the pair goes, on both sides
        ([3, 5, 2], [3, 4, 2], 6, 2),
        ([1, 9, 2], [1, 9, 2], 6, 2),  # what is older than a pair that does not fit stays out, short or not
        ([2, 9], [2, 9], 6, 2),  # a single pair that is too long is dropped too
        ([2, 9], [2, 9], 0, 2),
        ([0, 0], [0, 0], 0, 2),  # h = 0 keeps nothing at all
        ([], [], 6, 0),
    ],
)
def test_which_pairs_are_kept(source: list[int], target: list[int], limit: int, start: int) -> None:
    assert history_start(source, target, limit) == start


@given(pairs, limits)
def test_history_fits_and_is_as_long_as_can_be(lengths: list[tuple[int, int]], limit: int) -> None:
    source, target = [pair[0] for pair in lengths], [pair[1] for pair in lengths]
    start = history_start(source, target, limit)
    assert 0 <= start <= len(lengths)
    # One index for both sides keeps pairs aligned; both sums stay within the limit.
    assert sum(source[start:]) <= limit
    assert sum(target[start:]) <= limit
    if start > 0 and limit > 0:
        assert sum(source[start - 1 :]) > limit or sum(target[start - 1 :]) > limit


@given(pairs, limits, limits)
def test_more_room_never_means_less_history(lengths: list[tuple[int, int]], one: int, other: int) -> None:
    source, target = [pair[0] for pair in lengths], [pair[1] for pair in lengths]
    assert history_start(source, target, max(one, other)) <= history_start(source, target, min(one, other))


@given(pairs, limits)
def test_the_two_sides_are_alike(lengths: list[tuple[int, int]], limit: int) -> None:
    source, target = [pair[0] for pair in lengths], [pair[1] for pair in lengths]
    assert history_start(source, target, limit) == history_start(target, source, limit)
