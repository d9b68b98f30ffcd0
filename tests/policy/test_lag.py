"""The latency controller: what a lag is, what targets there are, and that it gets there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turia.errors import ConfigError
from turia.evaluation.latency import sentence_al
from turia.policy.adaptive import Adaptive
from turia.policy.base import Policy
from turia.policy.lag import Finished, LagController, TargetLag, parse_target_lag, sentence_lag
from turia.policy.table import POLICIES
from turia.policy.waitk import WaitK

MOVABLE = [policy() for policy in POLICIES.values() if policy.movable]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("5", TargetLag(5)),
        (5, TargetLag(5)),
        (2.5, TargetLag(2.5)),
        ("3s", TargetLag(3, "s")),
        (" 4 words", TargetLag(4)),
        ("2.5 s", TargetLag(2.5, "s")),
    ],
)
def test_targets_as_people_type_them(text: str | float, target: TargetLag) -> None:
    assert parse_target_lag(text) == target
    assert parse_target_lag(str(target)) == target


@pytest.mark.parametrize("text", ["", "soon", "-3", "3m", "0", "1000", True, "nan", "0.1s", "3ss", "\u0663", "1_0"])
def test_what_is_no_target_is_refused(text: str | bool) -> None:
    with pytest.raises(ConfigError, match=r"target_lag is .*expected"):
        parse_target_lag(text)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 12))
def test_the_lag_of_a_sentence_is_its_al(delays: list[int], words: int) -> None:
    delays = sorted(min(delay, words) for delay in delays)
    assert sentence_lag(delays, words) == pytest.approx(sentence_al(delays, words, len(delays)))


@pytest.mark.parametrize("policy", MOVABLE, ids=str)
@given(steps=st.integers(-50, 50))
def test_a_policy_moves_both_ways_and_stays_one_of_its_kind(policy: Policy, steps: int) -> None:
    moved = policy.moved(steps)
    assert type(moved) is type(policy)
    assert POLICIES[policy.name](**moved.parameters()) == moved
    if steps >= 0:
        assert moved.moved(-steps) == policy
    assert (moved == policy) == (steps == 0 or (steps < 0 and policy.moved(-1) == policy))


def test_adaptive_moves_both_lags_and_keeps_their_distance() -> None:
    assert Adaptive(3, 6).moved(-5) == Adaptive(1, 4)
    assert Adaptive(3, 6).moved(2) == Adaptive(5, 8)


def run_with(target: TargetLag, lengths: list[int], paces: list[float], begin: int) -> tuple[list[float], list[int]]:
    """Lag in words and k of each sentence of a made-up speaker, under wait-k with one target word a source word."""
    controller, policy = LagController(), WaitK(begin)
    lags, ks, read, clock = [], [], 0, 0.0
    for words, pace in zip(lengths, paces, strict=True):
        for _ in range(words):
            read, clock = read + 1, clock + 1 / pace
            controller.heard(read, clock)
        delays = [min(policy.k + t, words) for t in range(words)]
        lags.append(sentence_lag(delays, words))
        ks.append(policy.k)
        controller.sentence(words, delays)
        # Saved and restored between any two sentences.
        controller = LagController.from_json(json.loads(json.dumps(controller.to_json())))
        moved = controller.next_policy(policy, target)
        assert isinstance(moved, WaitK)
        policy = moved
    return lags, ks


def weighted(lags: list[float], lengths: list[int]) -> float:
    return sum(lag * words for lag, words in zip(lags, lengths, strict=True)) / sum(lengths)


@settings(max_examples=20)
@given(
    st.floats(1.5, 8),
    st.lists(st.integers(15, 40), min_size=60, max_size=60),
    st.integers(1, 20),
)
def test_the_mean_lag_of_the_last_minutes_comes_to_the_target_and_stays(
    target: float, lengths: list[int], begin: int
) -> None:
    lags, _ = run_with(TargetLag(target), lengths, [2.5] * 60, begin)
    for end in (30, 45, 60):
        # As many sentences as the last minutes have.
        start = next(s for s in range(end, -1, -1) if sum(lengths[s:end]) >= 300)
        assert abs(weighted(lags[start:end], lengths[start:end]) - target) < 0.75


def test_a_target_in_seconds_follows_the_pace() -> None:
    lags, ks = run_with(TargetLag(2, "s"), [20] * 80, [2.0] * 40 + [4.0] * 40, 2)
    assert sum(lags[30:40]) / 10 == pytest.approx(4, abs=0.5)
    # Within half a minute: six sentences.
    assert sum(lags[46:56]) / 10 == pytest.approx(8, abs=1)
    assert sum(lags[70:80]) / 10 == pytest.approx(8, abs=0.5)
    assert ks[39] < ks[79]


def test_one_sentence_that_is_off_moves_nothing_if_the_mean_is_right() -> None:
    controller = LagController(recent=[Finished(250, 5.0, 2.5)], settled=1)
    controller.sentence(20, [min(8 + t, 20) for t in range(20)])
    assert controller.next_policy(WaitK(5), TargetLag(5)) == WaitK(5)


def test_what_was_before_the_last_move_does_not_move_it_on() -> None:
    controller = LagController(recent=[Finished(200, 9.0, 2.5)], settled=1)
    moved = controller.next_policy(WaitK(9), TargetLag(5))
    assert moved == WaitK(5)
    controller.sentence(30, [min(5 + t, 30) for t in range(30)])
    assert (controller.mean() or 0) > 8
    assert controller.next_policy(moved, TargetLag(5)) == moved


def test_words_that_come_as_fast_as_a_file_is_read_have_no_pace() -> None:
    controller = LagController()
    for word in range(200):
        controller.heard(word, word / 100)
    assert controller.pace() == 2.5


@given(st.lists(st.floats(0, 10_000), max_size=300))
def test_times_that_go_back_or_jump_are_survived_and_memory_stays_small(times: list[float]) -> None:
    controller = LagController()
    for read, seconds in enumerate(times):
        controller.heard(read, seconds)
        assert len(controller.times) <= 40
    assert 0.2 <= controller.pace() <= 8


@pytest.mark.parametrize(
    "data",
    [
        {"recent": [[0, 1.0, 2.5]], "times": [], "settled": 0},
        {"recent": [], "times": [], "settled": 1},
        {"recent": [[3, float("nan"), 2.5]], "times": [], "settled": 0},
        {"recent": [[3, 1.0, 2.5]], "times": [["x", 1.0]], "settled": 0},
    ],
)
def test_a_damaged_state_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (several)
        LagController.from_json(data)
