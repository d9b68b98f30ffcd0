"""Typed data: plain data from TOML and JSON in, frozen dataclasses out, and back.

Everything that comes from outside is read here: recipes, model folders, traces, messages on the wire, requests. So
there is one rule for types, one for ranges, and one wording for errors:

    training.steps is 1.0, expected a whole number from 1

A value is never converted, but for whole numbers where a number is expected: true is not 1, and "4" is not 4. The
range of a value is part of its type (`Annotated[int, whole(1, 100)]`); what several values must satisfy together is
checked by the dataclass, in `__post_init__`. What Python code gives, such as the settings of a stream, is held to the
same types by `checked`.

Keys that a dataclass does not know are refused, with the nearest known one named, or passed over, where data of later
releases is to be read too. Paths are relative to the folder of the file that names them. A TOML file may begin with
`extends = "other.toml"`: its keys then replace those of the other, table by table.
"""

from turia.schema.json_lines import Tagged, read_json, write_json
from turia.schema.records import JsonObject, checked, expectations, from_dict, to_dict
from turia.schema.rules import (
    AboveZero,
    AtLeastOne,
    BelowOne,
    MismatchError,
    Natural,
    NotNegative,
    Positive,
    Rule,
    Share,
    has_half_characters,
    number,
    one_of,
    text,
    whole,
)
from turia.schema.toml_files import load_toml

__all__ = [
    "AboveZero",
    "AtLeastOne",
    "BelowOne",
    "JsonObject",
    "MismatchError",
    "Natural",
    "NotNegative",
    "Positive",
    "Rule",
    "Share",
    "Tagged",
    "checked",
    "expectations",
    "from_dict",
    "has_half_characters",
    "load_toml",
    "number",
    "one_of",
    "read_json",
    "text",
    "to_dict",
    "whole",
    "write_json",
]
