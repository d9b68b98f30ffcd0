"""The measured capacity follows the speed of the slowest model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, chain, repeat

import pytest

from tests.server.fakes import fake_translators
from turia.server.capacity import LOAD, TOGETHER, WORDS_PER_SECOND, measured_streams, seconds_per_word


def clock_of(*seconds: float) -> Callable[[], float]:
    """Each round takes one of these times, the last of them for ever."""
    times = chain(seconds, repeat(seconds[-1]))
    # Read before a round and after it: the clock stands, then it has moved.
    ticks = accumulate(chain.from_iterable((0.0, time) for time in times))
    return lambda: next(ticks)


@pytest.mark.parametrize(("a_round", "streams"), [(0.08, 20), (0.16, 10), (0.8, 2), (100.0, 1)])
def test_capacity(a_round: float, streams: int) -> None:
    """LOAD of a second, for so many words a second at a TOGETHERth of a round each."""
    expected = max(1, int(LOAD * TOGETHER / (WORDS_PER_SECOND * a_round) + 1e-9))
    assert expected == streams
    assert measured_streams(list(fake_translators().values()), 2.0, clock_of(a_round - 1e-9)) == streams


def test_the_first_rounds_do_not_count() -> None:
    (translator, *_) = fake_translators().values()
    assert seconds_per_word(translator, 0.65, clock_of(0.5, 0.1, 0.08)) == pytest.approx(0.09 / TOGETHER)
