"""The measured capacity follows the speed of the slowest model, and of the machine as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import accumulate, chain, repeat
from typing import cast

import pytest

from tests.server.fakes import fake_translators
from turia.server.capacity import (
    LOAD,
    ROUNDS,
    TOGETHER,
    WORDS_PER_SECOND,
    Meter,
    Occasions,
    measure_again,
    measured_streams,
    seconds_per_word,
)
from turia.server.limits import Limits
from turia.server.sessions import SessionManager


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


def test_a_running_server_measures_again_and_one_disturbed_measurement_does_not_count() -> None:
    translators = list(fake_translators().values())
    quick, slow = [0.08 - 1e-9] * ROUNDS * len(translators), [0.8 - 1e-9] * ROUNDS * len(translators)
    meter = Meter(translators, 20, clock_of(*quick, *slow, *quick, *slow, *slow))

    def measure() -> int:
        rounds = 1
        while not meter.round():
            rounds += 1
        assert rounds == ROUNDS * len(translators)
        return meter.streams

    assert meter.streams == 20
    assert [measure() for _ in range(5)] == [20, 20, 20, 2, 2]


def test_the_slowest_model_decides_in_later_measurements_too() -> None:
    translators = list(fake_translators().values())
    meter = Meter(translators, 2, clock_of(*[0.08] * ROUNDS, *[0.8] * ROUNDS))
    while not meter.round():
        pass
    assert meter.streams == 2


def test_it_is_measured_again_when_the_load_changes_and_every_ten_minutes() -> None:
    occasions = Occasions(load=1.0, now=0.0)
    assert [occasions.is_one(1.0, now) for now in (10.0, 20.0, 30.0)] == [True, True, False], "the first was short"
    assert not occasions.is_one(1.4, 40.0)
    assert [occasions.is_one(1.6, now) for now in (50.0, 60.0, 70.0, 80.0)] == [True, True, True, False]
    assert [occasions.is_one(1.6, now) for now in (669.0, 670.0, 680.0)] == [False, True, False]


def test_a_server_takes_as_many_streams_as_it_measured_last() -> None:
    class Machine:
        """A manager whose models are always idle."""

        def __init__(self) -> None:
            self.translators = fake_translators()
            self.limits = Limits(streams=1)
            self.held: list[int] = []

        async def do_when_idle(self, work: Callable[[], object]) -> object:
            return work()

        def hold(self, streams: int) -> None:
            self.held.append(streams)
            if len(self.held) == 2:
                raise asyncio.CancelledError

    machine = Machine()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(measure_again(cast(SessionManager, machine), look_seconds=0.0))
    assert machine.held[0] == 1, "the lower one of two"
    assert machine.held[1] > 1, "fakes are quick"
