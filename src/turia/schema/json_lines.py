"""JSON objects: strict where they are read, compact where they are written, and told apart by a key `type`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Generic, Never, TypeVar

from turia.errors import ConfigError, FormatError
from turia.schema.records import JsonObject, from_dict, to_dict
from turia.schema.rules import MismatchError, one_of

T = TypeVar("T")


def read_json(data: str | bytes) -> JsonObject:
    """The JSON object in a text. What JSON does not have (NaN) is refused, and so is what would break a parser."""
    try:
        found = json.loads(
            data if isinstance(data, str) else data.decode("utf-8"), parse_constant=_refuse, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, brackets 5,000 deep
        raise FormatError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise FormatError("expected a JSON object")
    return found


def write_json(data: Mapping[str, Any]) -> str:
    """Compact JSON on one line; the same data gives the same text."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _finite(digits: str) -> float:
    found = float(digits)
    if math.isinf(found):
        raise ValueError(f"{digits:.30} is too large for a number")
    return found


def _refuse(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")


class Tagged(Generic[T]):
    """Dataclasses with a key `type` that says which one it is: records of a trace, events, messages.

    The only place where these become JSON, and are read from it. Keys of later releases are passed over.
    """

    def __init__(self, kinds: Mapping[str, type[T]]) -> None:
        self.kinds = dict(kinds)
        self._names = {kind: name for name, kind in self.kinds.items()}
        self._known = one_of(*self.kinds).expected

    def to_json(self, record: T) -> JsonObject:
        return {"type": self._names[type(record)], **to_dict(record)}

    def to_line(self, record: T) -> str:
        """One line, without the newline."""
        return write_json(self.to_json(record))

    def from_json(self, data: JsonObject) -> T:
        if "type" not in data:
            raise ConfigError("missing key 'type'")
        name = data["type"]
        kind = self.kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise MismatchError("type", name, self._known)
        return from_dict(kind, data, pass_over=True)
