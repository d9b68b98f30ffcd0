"""Actions: text to READ and WRITE and back, and the place of a letter that is neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import FormatError
from turia.stream.actions import Action, format_actions, parse_actions

R, W = Action.READ, Action.WRITE


def test_actions_are_parted_by_white_space_or_by_nothing() -> None:
    assert parse_actions("R W\tRW\nW\r\n") == [R, W, R, W, W]
    assert parse_actions(" \n") == []
    assert format_actions([R, W, W]) == "R W W"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R W r", "log:1: column 5: expected R or W, found 'r'"),
        ("R\nRWX", "log:2: column 3: expected R or W, found 'X'"),
        ("\ufeffR", "log:1: column 1: expected R or W, found '\\ufeff'"),
    ],
)
def test_anything_else_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_actions(text, path="log")
    assert str(caught.value) == message


@given(st.lists(st.sampled_from([R, W])), st.sampled_from(["", " ", "\n", " \t "]))
def test_actions_round_trip_whatever_parts_them(actions: list[Action], separator: str) -> None:
    assert parse_actions(format_actions(actions)) == actions
    assert parse_actions(separator.join(actions)) == actions
