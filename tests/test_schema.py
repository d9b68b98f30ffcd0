"""The schema: one rule for types, one wording for errors, and JSON that a program of any release can read.

What recipes make of it is in test_config.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import ConfigError, FormatError
from turia.schema import (
    JsonObject,
    MismatchError,
    Natural,
    Rule,
    Tagged,
    expectations,
    from_dict,
    one_of,
    read_json,
    text,
    to_dict,
    whole,
    write_json,
)


@dataclass(frozen=True)
class Place:
    row: Natural
    name: Annotated[str, text(3)] = "a"


@dataclass(frozen=True)
class Everything:
    KEYS: ClassVar = {"session_id": "session"}
    OLD_KEYS: ClassVar = {"words_a_second": "words_per_second"}

    k: Annotated[int, whole(1, 100)] = 4
    words_per_second: float = 2.5
    reason: Annotated[str, one_of("policy", "flush")] = "policy"
    role: Literal["speaker", "viewer"] = "viewer"
    texts: str | tuple[str, ...] = ""
    at: float | None = None
    words: Annotated[tuple[Annotated[str, text(5)], ...], Rule(bool, "a list of at least one word")] = ("a",)
    place: Place = field(default_factory=lambda: Place(0))
    session_id: str = ""
    more: JsonObject = field(default_factory=dict)


def complaint(**data: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        from_dict(Everything, data)
    return str(caught.value)


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


SHAPES: Tagged[Place | Everything] = Tagged({"place": Place, "all": Everything})


def test_types_are_told_apart_by_their_tag() -> None:
    assert SHAPES.to_line(Place(3, "ü")) == '{"type":"place","row":3,"name":"ü"}'
    assert SHAPES.from_json({"type": "place", "row": 3, "later": 1}) == Place(3)
    cases: list[tuple[JsonObject, str]] = [
        ({}, "missing key 'type'"),
        ({"type": "x"}, "type is 'x', expected one of 'place', 'all'"),
        ({"type": ["place"]}, "type is ['place'], expected one of 'place', 'all'"),
    ]
    for data, message in cases:
        with pytest.raises(ConfigError) as caught:
            SHAPES.from_json(data)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not JSON: Expecting value at column 1"),
        ("[1]", "expected a JSON object"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        ('{"a":NaN}', "not JSON: NaN is not a JSON number"),
        ('{"a":-1e999}', "not JSON: -1e999 is too large for a number"),
        ("[" * 100_000, "not JSON: maximum recursion depth exceeded"),
        ('{"a":' + "9" * 5000 + "}", "not JSON: Exceeds the limit (4300 digits)"),
    ],
)
def test_json_that_is_none(data: str | bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_json(data)
    assert str(caught.value).startswith(message)


def test_json_is_compact_and_as_it_was_said() -> None:
    assert read_json(b'{"a": [1, 2.50, "\\u00fc"]}') == {"a": [1, 2.5, "ü"]}
    assert write_json({"a": (1, 2.5, "ü")}) == '{"a":[1,2.5,"ü"]}'
    with pytest.raises(ValueError, match="Out of range"):
        write_json({"a": float("nan")})
    assert json.loads(write_json({"a": 1})) == {"a": 1}
