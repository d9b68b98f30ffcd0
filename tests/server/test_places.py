"""Admission counts work: fast speakers take the places of many, and are slowed where others are there too."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from turia.server.limits import Limits
from turia.server.places import (
    AVERAGED_SECONDS,
    LONGEST_WAIT,
    WORDS_PER_SECOND,
    Pace,
    seconds_to_wait,
    shortage,
    work_of,
)


def speaking(words_per_second: float, seconds: float = 300.0) -> Pace:
    """Somebody who has spoken so fast until second 0."""
    pace, step = Pace(), 0.5
    for number in range(int(seconds / step)):
        pace.say(1, step * (number + 1) - seconds)
        # `say` takes whole words: the rest at once.
        pace._rate += (words_per_second * step - 1) / AVERAGED_SECONDS
    return pace


@dataclass
class Speaker:
    pace: Pace
    owner: str = "a"


@dataclass
class Room:
    slow: int = 0
    fast: int = 0
    speakers: list[Speaker] = field(init=False)

    def __post_init__(self) -> None:
        self.speakers = [Speaker(speaking(2.0)) for _ in range(self.slow)]
        self.speakers += [Speaker(speaking(50.0)) for _ in range(self.fast)]


def test_the_pace_of_a_speaker_is_measured_and_fades_in_silence() -> None:
    pace = speaking(50.0)
    assert pace.rate(0.0) == pytest.approx(50.0, rel=0.02)
    assert pace.places(0.0) == pytest.approx(20.0, rel=0.02)
    assert pace.rate(AVERAGED_SECONDS) == pytest.approx(50.0 / 2.718, rel=0.02)
    assert pace.places(10 * AVERAGED_SECONDS) == 1.0
    assert pace.rate(-100.0) == pytest.approx(50.0, rel=0.02), "a clock that goes back makes nobody faster"


def test_a_bunch_of_words_is_no_pace() -> None:
    pace = Pace()
    pace.say(60, 0.0)
    assert pace.places(0.0) == 1.0


@pytest.mark.parametrize(
    ("room", "code"),
    [
        (Room(slow=29), None),
        (Room(slow=30), "capacity"),
        (Room(slow=9, fast=1), None),
        (Room(slow=11, fast=1), "capacity"),
        (Room(fast=2), "capacity"),
    ],
)
def test_a_fast_speaker_takes_the_places_of_twenty(room: Room, code: str | None) -> None:
    found = shortage(room.speakers, "another", Limits(streams=30, streams_per_key=30), 0.0)
    assert (found and found.code) == code
    if room.fast == 2:
        assert str(found) == "2 fast speakers use all 30 streams"


def test_one_stream_is_named_as_one() -> None:
    none_left = shortage(Room(slow=1).speakers, "another", Limits(streams=1, streams_per_key=1), 0.0)
    none_of_key = shortage(Room(slow=1).speakers, "a", Limits(streams=30, streams_per_key=1), 0.0)
    one_fast = shortage(Room(fast=1).speakers, "another", Limits(streams=20, streams_per_key=20), 0.0)
    assert [str(found) for found in (none_left, none_of_key, one_fast)] == [
        "the only stream is in use",
        "the only stream of this key is in use",
        "one fast speaker uses all 20 streams",
    ]


def test_a_fast_speaker_uses_up_the_places_of_his_key() -> None:
    speakers, limits = Room(fast=1).speakers, Limits(streams=30, streams_per_key=19)
    found = shortage(speakers, "a", limits, 0.0)
    assert found is not None
    assert found.code == "key-capacity"
    assert shortage(speakers, "another", limits, 0.0) is None


@pytest.mark.parametrize(
    ("rate", "others", "wait"),
    [
        (50.0, 0.0, 0.0),  # alone
        (4.5, 100.0, 0.0),  # a person, however full it is
        (49.0, 10.0, 0.0),  # there is room
        (50.0, 20.0, 10 / (10 * WORDS_PER_SECOND)),
        (50.0, 100.0, 10 / (2 * WORDS_PER_SECOND)),
    ],
)
def test_who_is_faster_than_there_is_room_for_waits(rate: float, others: float, wait: float) -> None:
    pace = speaking(rate)
    assert seconds_to_wait(pace, 10, others, 30, 0.0) == pytest.approx(wait)
    assert seconds_to_wait(pace, 500, others, 30, 0.0) == min(LONGEST_WAIT, 50 * wait)


def test_work_is_that_of_all() -> None:
    assert work_of(Room(slow=3, fast=1).speakers, 0.0) == pytest.approx(23.0, rel=0.02)
