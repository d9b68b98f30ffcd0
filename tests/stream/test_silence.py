"""When a speaker has stopped."""

from __future__ import annotations

import pytest

from turia.stream.silence import LONGEST_INTERVAL, Silence, TimeGaps
from turia.stream.times import SpokenWord


def said(silence: Silence, *times: float, partial: bool = False) -> Silence:
    for time in times:
        silence.will_wait()
        silence.said(time, partial)
    return silence


def test_there_is_nothing_to_wait_for_before_the_first_word_and_after_a_pause() -> None:
    silence = Silence(1.5)
    assert silence.left(100.0) is None
    silence.said(100.0)
    assert silence.left(100.0) == 1.5
    assert silence.left(101.0) == 0.5
    assert silence.left(110.0) == 0.0
    silence.paused()
    assert silence.left(110.0) is None


def test_a_pause_of_0_never_comes() -> None:
    assert said(Silence(0.0), 1.0).left(1000.0) is None


def test_a_feed_that_comes_in_portions_is_waited_for_as_long_as_it_usually_takes() -> None:
    silence = said(Silence(1.5), 0.0, 3.0, 5.0)
    assert silence.left(5.0) == 4.5
    # Words of one portion are one arrival.
    for time in (5.1, 5.2, 5.3, 5.4, 5.5, 5.6):
        silence.said(time)
    assert silence.left(5.6) == 4.5


def test_a_long_interval_was_the_speaker_s() -> None:
    assert said(Silence(1.5), 0.0, 2 * LONGEST_INTERVAL).left(2 * LONGEST_INTERVAL) == 1.5


def test_a_feed_with_partials_shows_that_somebody_speaks() -> None:
    silence = said(Silence(1.5), 0.0, 3.0)
    assert said(silence, 4.0, partial=True).left(4.0) == 1.5


@pytest.mark.parametrize(
    ("words", "pauses"),
    [
        ([SpokenWord("a", 0.0, 1.0), SpokenWord("b", 2.4, 3.0), SpokenWord("c", 4.5, 5.0)], [False, False, True]),
        ([SpokenWord("a", 0.0, 1.0), SpokenWord("b", 9000.0, 9001.0)], [False, True]),
        ([SpokenWord("a", 5.0, 6.0), SpokenWord("b", 1.0, 2.0), SpokenWord("c", 2.0, 3.0)], [False, False, False]),
        ([SpokenWord("a"), SpokenWord("b"), SpokenWord("c", 9.0, 9.5)], [False, False, False]),
        # Without starts, a word may take a second.
        ([SpokenWord("a", None, 1.0), SpokenWord("b", None, 3.0), SpokenWord("c", None, 5.5)], [False, False, True]),
    ],
)
def test_gaps_between_the_times_of_words(words: list[SpokenWord], pauses: list[bool]) -> None:
    gaps = TimeGaps(1.5)
    assert [gaps.before(word) for word in words] == pauses
    off = TimeGaps(0.0)
    assert not any(off.before(word) for word in words)
