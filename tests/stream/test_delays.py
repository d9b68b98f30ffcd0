"""Delays: what was read when each word was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.stream.actions import Action, format_actions, parse_actions
from turia.stream.delays import actions_from_delays, delays_from_actions

logs = st.lists(st.sampled_from(list(Action)), max_size=60)


def test_a_delay_is_the_number_of_reads_before_the_write() -> None:
    assert delays_from_actions(parse_actions("R R W R W W R")) == [2, 3, 3]
    assert delays_from_actions(parse_actions("W R")) == [0]
    assert delays_from_actions([]) == []


def test_source_words_that_no_word_waited_for_are_read_at_the_end() -> None:
    assert format_actions(actions_from_delays([2, 3, 3], source_words=5)) == "R R W R W W R R"
    assert format_actions(actions_from_delays([], source_words=2)) == "R R"


@pytest.mark.parametrize(("delays", "source_words"), [([2, 1], 5), ([6], 5)])
def test_delays_that_decrease_or_pass_the_source_are_our_own_fault(delays: list[int], source_words: int) -> None:
    with pytest.raises(AssertionError):
        actions_from_delays(delays, source_words)


@given(logs)
def test_delays_never_decrease_nor_pass_the_words_read(actions: list[Action]) -> None:
    delays = delays_from_actions(actions)
    assert len(delays) == actions.count(Action.WRITE)
    assert delays == sorted(delays)
    assert all(0 <= delay <= actions.count(Action.READ) for delay in delays)


@given(logs)
def test_actions_and_delays_say_the_same(actions: list[Action]) -> None:
    delays = delays_from_actions(actions)
    assert actions_from_delays(delays, actions.count(Action.READ)) == actions
