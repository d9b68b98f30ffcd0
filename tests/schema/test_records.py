"""Dataclasses from plain data and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.toys import Everything, Place
from turia.errors import ConfigError
from turia.schema import checked, expectations, from_dict, read_json, to_dict, write_json


def test_keys_of_earlier_releases_and_keys_that_are_not_names() -> None:
    found = from_dict(Everything, {"words_a_second": 3, "session": "s"})
    assert (found.words_per_second, found.session_id) == (3.0, "s")
    assert to_dict(found).items() >= {"words_per_second": 3.0, "session": "s"}.items()


def test_unknown_keys_are_passed_over_where_later_releases_may_add_some() -> None:
    assert from_dict(Everything, {"k": 7, "later": 1}, pass_over=True) == Everything(k=7)


def test_what_is_expected_can_be_told_beforehand() -> None:
    told = expectations(Everything)
    assert told["k"] == "a whole number from 1 to 100"
    assert told["session"] == "a string"
    assert told["texts"] == "a string or a list"


@given(
    st.builds(
        Everything,
        k=st.integers(1, 100),
        at=st.none() | st.floats(-1e9, 1e9),
        texts=st.text() | st.lists(st.text()).map(tuple),
        place=st.builds(Place, st.integers(0, 9), st.text(min_size=1, max_size=3)),
    )
)
def test_what_is_written_is_read_again(record: Everything) -> None:
    assert from_dict(Everything, read_json(write_json(to_dict(record)))) == record


def test_values_from_python_are_held_to_the_types_of_their_fields() -> None:
    place = Place(3, "x")
    values = checked(Everything, {"k": np.int64(3), "at": np.float32(0.5), "place": place})
    assert values == {"k": 3, "at": 0.5, "place": place}
    assert (type(values["k"]), type(values["at"])) == (int, float)
    assert checked(Everything, {"at": None}) == {"at": None}


@pytest.mark.parametrize("value", [0, True, 1.0, "4", np.int64(101), np.bool_(True), np.ones(3)])
def test_what_a_field_may_not_hold_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^k is .*, expected a whole number from 1 to 100$"):
        checked(Everything, {"k": value})
