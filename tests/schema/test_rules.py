"""Ranges, and one wording for errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.toys import Everything, complaint
from turia.schema import JsonObject, MismatchError, from_dict


@pytest.mark.parametrize("value", [True, "4", 4.0, None, [4], 0, 101])
def test_nothing_is_taken_for_a_whole_number_but_a_whole_number(value: Any) -> None:
    assert complaint(k=value) == f"k is {value!r}, expected a whole number from 1 to 100"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"words_per_second": "1"}, "words_per_second is '1', expected a number"),
        ({"words_per_second": True}, "words_per_second is True, expected a number"),
        ({"words_per_second": 10**400}, f"words_per_second is {'1' + 99 * '0'}…, expected a number"),
        ({"words_a_second": "1"}, "words_a_second is '1', expected a number"),
        ({"reason": "mood"}, "reason is 'mood', expected one of 'policy', 'flush'"),
        ({"role": 1}, "role is 1, expected one of 'speaker', 'viewer'"),
        ({"texts": ["a", 1]}, "texts is ['a', 1], expected a string or a list"),
        ({"words": "a"}, "words is 'a', expected a list of at least one word"),
        ({"words": []}, "words is [], expected a list of at least one word"),
        ({"words": ["a", "b" * 6]}, "words[1] is 'bbbbbb', expected a string of 1 to 5 letters"),
        ({"words": ["a", "b\ud800"]}, "words[1] is 'b\\ud800', expected a string of 1 to 5 letters"),
        ({"place": {"row": -1}}, "place.row is -1, expected a whole number from 0"),
        ({"place": {}}, "missing key 'place.row'"),
        ({"place": []}, "place is [], expected a table"),
        ({"more": []}, "more is [], expected an object"),
        ({"kk": 1}, "unknown key 'kk'; did you mean 'k'?"),
    ],
)
def test_errors_name_the_key_the_value_and_what_was_expected(data: JsonObject, message: str) -> None:
    assert complaint(**data) == message


def test_a_complaint_for_strangers_repeats_no_text() -> None:
    for value, shown in [("secret", "a string"), (["secret"], "a list"), ({"secret": 1}, "an object"), (4.5, "4.5")]:
        with pytest.raises(MismatchError) as caught:
            from_dict(Everything, {"k": value})
        assert caught.value.without_text() == f"k is {shown}, expected a whole number from 1 to 100"
