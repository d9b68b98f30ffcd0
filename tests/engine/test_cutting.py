"""Where the active source is cut: behind the words that were translated, by attention and by length."""

from __future__ import annotations

import numpy as np
import pytest

from turia.engine.cutting import attention_scores, best_cut, furthest, length_scores


def looking(*places: int, read: int, spread: float = 0.0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The attention of words that look at these places; a part of it is everywhere."""
    attention = np.full((len(places), read), spread / read)
    attention[np.arange(len(places)), list(places)] += 1 - spread
    return attention


def cut(*places: int, read: int, spread: float = 0.0, gamma: float = 1.0) -> int:
    attention = looking(*places, read=read, spread=spread)
    return best_cut(attention_scores(attention) + length_scores(read, len(places), gamma))


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_the_cut_is_behind_the_furthest_word_that_is_looked_at(spread: float) -> None:
    assert cut(0, 1, 2, 3, 4, read=9, spread=spread) == 5
    assert cut(0, 4, 3, 1, 2, read=9, spread=spread) == 5, "in any order"
    assert cut(0, 1, 1, 2, 2, 3, 5, read=9, spread=spread) == 6, "a word may stay unneeded"


def test_one_word_that_looks_far_beyond_does_not_move_the_cut() -> None:
    assert cut(0, 1, 2, 3, 4, 5, 6, 7, 25, 8, read=30) <= 10


def test_all_that_was_read_may_be_before_the_cut() -> None:
    assert cut(0, 1, 2, read=3) == 3


def test_length_alone_cuts_at_the_ratio() -> None:
    assert best_cut(length_scores(30, 12, 1.0)) == 12
    assert best_cut(length_scores(30, 12, 1.2)) == 10
    assert best_cut(length_scores(5, 12, 1.0)) == 5
    assert best_cut(length_scores(5, 0, 1.0)) == 1, "there is always a word before the cut"


def test_nobody_looks_beyond_four_deviations() -> None:
    words = furthest(20, 1.0)
    scores = length_scores(100, 20, 1.0)
    assert 20 < words < 45
    assert scores[words] < -8 < scores[25]
