"""JSON that a program of any release can read."""

from __future__ import annotations

import json

import pytest

from tests.schema.toys import Everything, Place
from turia.errors import ConfigError, FormatError
from turia.schema import JsonObject, Tagged, read_json, write_json

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
