"""The guards at their thresholds."""

from __future__ import annotations

from turia.policy.guards import degenerate, length_limit, loops


def test_the_length_limit_grows_with_the_source() -> None:
    assert [length_limit(words) for words in (0, 1, 10, 60)] == [10, 12, 35, 160]


def test_where_gamma_asks_for_more_words_the_limit_allows_them() -> None:
    assert [length_limit(10, gamma) for gamma in (0.5, 1.24, 1.6, 2.0, 10.0)] == [35, 35, 35, 40, 160]


def test_a_loop_is_an_ngram_more_than_five_times_in_a_row() -> None:
    assert not loops(["the", "end"] * 5)
    assert loops(["the", "end"] * 6)
    assert loops(["so", *["one", "two", "three"] * 6])
    assert loops(["a", "b", "c", "d", "e", "f"] * 6)
    assert not loops(["a", "b", "c", "d", "e", "f", "g"] * 9), "orders 2 to 6"
    assert not loops([*["the", "end"] * 6, "now"]), "only what stands at the end is going on"


def test_one_word_over_and_over_is_a_loop_of_pairs() -> None:
    assert not loops(["no"] * 11)
    assert loops(["no"] * 12)


def test_repeats_and_odd_ratios_are_degenerate() -> None:
    words = [str(number) for number in range(40)]
    assert not degenerate(20, words[:20])
    assert degenerate(30, words[:11]), "ratio 0.37"
    assert not degenerate(30, words[:12]), "ratio 0.40"
    assert degenerate(11, words[:34]), "ratio 3.1"
    assert not degenerate(10, words[:34]), "short sentences have the benefit of the doubt"
    assert not degenerate(40, words[:10])
    scattered = [word for number in range(6) for word in ("it", "is", str(number))]
    assert degenerate(18, scattered), "a pair of words six times, wherever"
    assert not degenerate(15, scattered[:15])


def test_the_bounds_of_the_ratio_give_way_to_gamma() -> None:
    words = [str(number) for number in range(60)]
    assert not degenerate(11, words[:44], gamma=3.0), "ratio 4 where 3 is usual"
    assert degenerate(11, words[:50], gamma=3.0), "ratio 4.5 is the most"
    assert not degenerate(55, words[:11], gamma=0.3), "ratio 0.2 where 0.3 is usual"
    assert degenerate(60, words[:11], gamma=0.3), "ratio 0.18"
    assert degenerate(11, words[:34], gamma=1.2), "usual gammas change nothing"
