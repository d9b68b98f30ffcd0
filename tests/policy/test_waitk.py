"""Wait-k with catch-up: its values, what always holds of it, and that running it gives Eq. 5's delays."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from hypothesis import given
from hypothesis import strategies as st

from tests.delays import stream_delay
from turia.policy.base import Situation
from turia.policy.waitk import Rounding, WaitK, words_needed
from turia.stream.actions import Action
from turia.stream.delays import delays_from_actions
from turia.stream.sentences import offsets

ks = st.integers(1, 40)
ts = st.integers(1, 200)
gammas = st.sampled_from([0.5, 0.8, 0.95, 1.0, 1.1, 1.24, 2.0])
roundings: st.SearchStrategy[Rounding] = st.sampled_from(["floor", "ceil"])


def test_without_catch_up_the_lead_is_constant() -> None:
    assert [words_needed(t, k=3) for t in range(1, 6)] == [3, 4, 5, 6, 7]


def test_catch_up_writes_more_words_than_it_reads() -> None:
    assert [words_needed(t, k=1, gamma=1.24) for t in range(1, 8)] == [1, 1, 2, 3, 4, 5, 5]
    assert [words_needed(t, k=1, gamma=1.24, rounding="ceil") for t in range(1, 8)] == [1, 2, 3, 4, 5, 6, 6]


def test_a_gamma_below_one_reads_more_words_than_it_writes() -> None:
    assert [words_needed(t, k=2, gamma=0.8) for t in range(1, 7)] == [2, 3, 4, 5, 7, 8]
    assert [words_needed(t, k=2, gamma=0.8, rounding="ceil") for t in range(1, 7)] == [2, 4, 5, 6, 7, 9]


def test_gamma_is_the_decimal_that_was_written() -> None:
    # 33 / 1.1 is 30 and 21 / 0.7 is 30; in binary floating point both come out one word wrong.
    assert floor(1 + 33 / 1.1) == 30
    assert words_needed(34, 1, gamma=1.1) == 31
    assert ceil(1 + 21 / 0.7) == 32
    assert words_needed(22, 1, gamma=0.7, rounding="ceil") == 31


@given(ts, ks, st.integers(1, 500), st.sampled_from([10, 100, 1000]))
def test_needed_words_are_exact(t: int, k: int, numerator: int, denominator: int) -> None:
    gamma = numerator / denominator
    whole, rest = divmod((t - 1) * denominator, numerator)
    assert words_needed(t, k, gamma) == k + whole
    assert words_needed(t, k, gamma, "ceil") == k + whole + (rest > 0)


@given(ts, ks, roundings)
def test_equation_4_with_gamma_1_is_equation_3(t: int, k: int, rounding: Rounding) -> None:
    assert words_needed(t, k, 1.0, rounding) == k + t - 1


@given(ts, ks, gammas, roundings)
def test_needed_words_grow_with_t_and_k(t: int, k: int, gamma: float, rounding: Rounding) -> None:
    needed = words_needed(t, k, gamma, rounding)
    assert words_needed(1, k, gamma, rounding) == k
    assert words_needed(t + 1, k, gamma, rounding) >= needed
    assert words_needed(t, k + 1, gamma, rounding) == needed + 1


@given(ts, ks, gammas)
def test_rounding_moves_a_word_by_at_most_one(t: int, k: int, gamma: float) -> None:
    assert 0 <= words_needed(t, k, gamma, "ceil") - words_needed(t, k, gamma, "floor") <= 1


def test_the_first_action_of_a_sentence_is_read() -> None:
    assert not WaitK(1).may_write(Situation(read=0, written=0))


def test_it_stays_k_words_ahead() -> None:
    assert not WaitK(4).may_write(Situation(read=5, written=8))
    assert WaitK(4).may_write(Situation(read=12, written=8))
    assert not WaitK(4).may_write(Situation(read=11, written=8))


def test_a_gamma_of_its_own_takes_the_place_of_the_stream_s() -> None:
    at = Situation(read=6, written=4, gamma=1.0)
    assert not WaitK(4).may_write(at)
    assert WaitK(4, gamma=2.0).may_write(at)


def test_stream_delay_of_words_in_the_middle_and_at_the_end_of_a_stream() -> None:
    # Two sentences of 5 and 3 words; w = 2 shifts by two words, but nothing is read past the end.
    assert [stream_delay(t, 3, 0, 5, 8) for t in range(1, 6)] == [3, 4, 5, 5, 5]
    assert [stream_delay(t, 2, 5, 3, 8) for t in range(1, 4)] == [7, 8, 8]
    assert [stream_delay(t, 3, 0, 5, 8, window=2) for t in range(1, 6)] == [5, 6, 7, 7, 7]
    assert [stream_delay(t, 2, 5, 3, 8, window=2) for t in range(1, 4)] == [8, 8, 8]


@given(ts, ks, gammas, st.integers(1, 1000), st.integers(1, 1000))
def test_stream_delay_is_equation_5(t: int, k: int, gamma: float, a: int, b: int) -> None:
    """G(i) = floor(k + (i - b_n) / gamma) + a_n - 1, with 1-based a_n, b_n and i, as the paper prints it."""
    i = b + t - 1
    paper = floor(k + (i - b) / Fraction(str(gamma))) + a - 1
    assert stream_delay(t, k, start=a - 1, sentence_words=10**6, stream_words=10**7, gamma=gamma) == paper


def run_policy(
    source: Sequence[int], target: Sequence[int], k: int, gamma: float, window: int, rounding: Rounding
) -> list[Action]:
    """A translator reduced to its policy: sentence n has source[n] and target[n] words.

    A word is visible when `window` words after it have been read, or the stream has ended; a sentence is
    closed when its last word is visible, and the next one begins only then.
    """
    policy = WaitK(k, rounding=rounding)
    starts, total = offsets(source), sum(source)
    actions: list[Action] = []
    read = 0
    for start, length, words in zip(starts, source, target, strict=False):
        written = 0
        while True:
            visible = total if read == total else read - window
            seen = min(max(visible - start, 0), length)
            if written == words and seen == length:
                break
            if written < words and (seen == length or policy.may_write(Situation(seen, written, gamma))):
                actions.append(Action.WRITE)
                written += 1
            else:
                actions.append(Action.READ)
                read += 1
    return actions


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 15)), min_size=1, max_size=8),
    st.integers(1, 14),
    gammas,
    st.integers(0, 4),
    roundings,
)
def test_running_the_policy_gives_the_delays_of_the_formula(
    lengths: list[tuple[int, int]], k: int, gamma: float, window: int, rounding: Rounding
) -> None:
    source, target = [pair[0] for pair in lengths], [pair[1] for pair in lengths]
    actions = run_policy(source, target, k, gamma, window, rounding)
    delays = delays_from_actions(actions)
    starts, total = offsets(source), sum(source)
    assert actions[0] is Action.READ
    assert actions.count(Action.READ) == total
    assert delays == sorted(delays)
    assert delays == [
        stream_delay(t, k, starts[n], source[n], total, gamma, window, rounding)
        for n in range(len(source))
        for t in range(1, target[n] + 1)
    ]
