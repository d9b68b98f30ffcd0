"""Adaptive computation time: probabilities that are added up."""

from __future__ import annotations

import numpy as np
import pytest

from turia.errors import ConfigError
from turia.policy.act import Act
from turia.policy.base import Memory, Situation, State, TargetRow, head_values
from turia.policy.table import parse_policy

AT = Situation(3, 0)
SOURCE = np.ones(2, dtype=np.float32)
# The likeliest piece cannot begin a word. Of the others, the likeliest has a quarter of the probability.
TARGET = TargetRow(
    np.zeros(3, dtype=np.float32), np.log(np.array([4, 2, 2], dtype=np.float32)), np.array([True, False, False])
)


def test_it_writes_when_the_sum_reaches_one_less_epsilon_and_begins_anew() -> None:
    memory: Memory = {}
    said = iter([0.5, 0.25, 0.25, 0.5, 0.5])
    heads = {"act-0.2": lambda states, *numbers: next(said)}
    decisions = [Act(0.2, 0.0).may_write(AT, SOURCE, TARGET, heads, memory) for _ in range(5)]
    assert decisions == [False, False, True, False, True]
    assert memory == {"sum": 0.0}


def test_its_head_is_shown_both_states_the_lag_and_how_sure_the_model_is() -> None:
    shown: list[State] = []

    def head(states: tuple[State, ...], /, *numbers: float) -> float:
        shown.append(head_values(states, *numbers))
        return 1.0

    Act(0.05).may_write(Situation(5, 3, gamma=1.5), SOURCE, TARGET, {"act-0.05": head}, {})
    np.testing.assert_allclose(shown, [[1, 1, 0, 0, 0, 3, np.log(0.25)]], rtol=1e-6)


def test_it_is_typed_with_its_parameters() -> None:
    assert parse_policy("act:lag_cost=0.05") == Act(0.05, 0.1)
    with pytest.raises(ConfigError, match="policy act: epsilon is 1"):
        parse_policy("act:epsilon=1")
