"""Adaptive wait-k asks for less certainty as the lag grows."""

from __future__ import annotations

import pytest

from tests.policy.drafts import draft
from turia.errors import ConfigError
from turia.policy.adaptive import Adaptive
from turia.policy.base import Situation
from turia.policy.table import parse_policy

POLICY = Adaptive(k_min=2, k_max=6, rho_min=0.2, rho_max=0.8)


@pytest.mark.parametrize(("lag", "threshold"), [(2, 0.8), (4, 0.5), (6, 0.2)])
def test_the_threshold_falls_from_rho_max_to_rho_min(lag: float, threshold: float) -> None:
    assert POLICY.threshold(lag) == pytest.approx(threshold)


def test_below_the_smallest_lag_it_does_not_even_draft() -> None:
    assert not POLICY.wants_draft(Situation(read=5, written=4))
    assert POLICY.wants_draft(Situation(read=6, written=4))


@pytest.mark.parametrize(
    ("read", "probabilities", "kept"),
    [
        (6, [0.01, 0.01], 1),  # at lag 6 a word is written in any case; at lag 5 it would need 0.35
        (6, [0.01, 0.36, 0.49], 2),
        (6, [0.01, 0.36, 0.51, 0.66, 0.81, 0.99], 5),  # lags 6, 5, 4, 3, 2; below that nothing
        (4, [0.49], 0),
        (4, [0.51], 1),
    ],
)
def test_each_word_is_judged_at_its_own_lag(read: int, probabilities: list[float], kept: int) -> None:
    words = draft("abcdef"[: len(probabilities)], probabilities=probabilities)
    assert POLICY.keep(Situation(read, written=0), words, {}) == kept


def test_one_lag_is_wait_k() -> None:
    policy = Adaptive(k_min=3, k_max=3)
    assert policy.keep(Situation(read=5, written=0), draft("abcde", probabilities=[0.01] * 5), {}) == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("adaptive:k_min=9,k_max=3", "policy adaptive: k_min is 9, more than k_max, 3"),
        ("adaptive:rho_min=0.95", "policy adaptive: rho_min is 0.95, more than rho_max, 0.9"),
        ("adaptive:rho_max=2", "policy adaptive: rho_max is 2, expected a number from 0 to 1"),
        (f"adaptive:k_max={10**400}", "expected a whole number from 1 to 1000000"),  # no float holds such a lag
    ],
)
def test_bounds_that_cross_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as found:
        parse_policy(text)
    assert complaint in str(found.value)


def test_lags_stay_within_what_a_policy_may_have() -> None:
    assert Adaptive(3, 9).moved(-4) == Adaptive(1, 7)
    assert Adaptive(3, 999_999).moved(4) == Adaptive(4, 1_000_000)
