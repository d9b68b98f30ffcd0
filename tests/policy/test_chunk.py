"""Chunks: when a chunk begins to be written, and when it is over."""

from __future__ import annotations

import numpy as np
import pytest

from turia.policy.base import Memory, Situation, State, TargetRow, head_values
from turia.policy.chunk import Chunk
from turia.policy.table import parse_policy

STATE = np.zeros(2, dtype=np.float32)
ROW = TargetRow(STATE + 1, STATE, np.zeros(2, dtype=bool))


@pytest.mark.parametrize(("read", "said", "wanted"), [(2, 1.0, False), (3, 0.6, True), (3, 0.59, False)])
def test_a_chunk_can_end_after_its_delay_if_the_head_is_sure_enough(read: int, said: float, wanted: bool) -> None:
    heads = {"chunk-source-2": lambda states, *numbers: said}
    assert Chunk(0.6, 2).wants_row(Situation(read, 0), STATE, heads, {}) is wanted


def test_a_chunk_has_at_least_one_word_and_ends_where_the_target_head_says() -> None:
    said = iter([0.2, 0.7])
    heads = {"chunk-source-2": lambda states, *numbers: 1.0, "chunk-target-2": lambda states, *numbers: next(said)}
    memory: Memory = {}
    policy = Chunk()
    assert policy.wants_row(Situation(5, 0), STATE, heads, memory)
    assert [policy.may_write(Situation(5, n), STATE, ROW, heads, memory) for n in range(3)] == [True, True, False]
    # The next chunk is counted anew.
    assert policy.wants_row(Situation(6, 2), STATE, heads, memory)
    assert policy.may_write(Situation(6, 2), STATE, ROW, heads, memory)


def test_heads_are_shown_a_state_and_the_lag() -> None:
    shown: list[list[float]] = []

    def head(states: tuple[State, ...], /, *numbers: float) -> float:
        shown.append(head_values(states, *numbers).tolist())
        return 1.0

    policy, heads, memory = Chunk(0.5, 1), {"chunk-source-1": head, "chunk-target-1": head}, {"written": 1}
    policy.may_write(Situation(6, 3, gamma=1.5), STATE, ROW, heads, memory)
    policy.wants_row(Situation(7, 3, gamma=1.5), STATE, heads, memory)
    assert shown == [[1, 1, 4], [0, 0, 5]]


def test_it_is_typed_with_its_parameters() -> None:
    assert parse_policy("chunk:threshold=0.3,delay=1") == Chunk(0.3, 1)
    assert str(Chunk()) == "chunk:threshold=0.5,delay=2"
