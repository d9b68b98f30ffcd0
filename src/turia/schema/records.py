"""Dataclasses from plain data and back: which keys one has, and how a value of each type is read."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from turia.errors import ConfigError
from turia.schema.rules import MismatchError, Rule, one_of

JsonObject = dict[str, Any]
T = TypeVar("T")


def from_dict(
    kind: type[T], data: Mapping[str, Any], base: Path | None = None, prefix: str = "", *, pass_over: bool = False
) -> T:
    """The dataclass `kind` from plain data. `base` is what relative paths are relative to.

    With `pass_over`, unknown keys are ignored. The key of a field is its name, unless the dataclass has another for it
    in `KEYS`; keys of earlier releases may stand in `OLD_KEYS`.
    """
    shape = _shape(kind)
    values: dict[str, Any] = {}
    for given, value in data.items():
        known = shape.keys.get(given)
        if known is not None:
            values[known.name] = known.type.read(value, prefix + given, base)
        elif not pass_over:
            near = get_close_matches(given, shape.keys, n=1)
            known_keys = ", ".join(shape.written) or "none"
            hint = f"did you mean {prefix + near[0]!r}?" if near else f"known keys: {known_keys}"
            raise ConfigError(f"unknown key {prefix + given!r}; {hint}")
    if not shape.required.keys() <= values.keys():
        missing = next(key for name, key in shape.required.items() if name not in values)
        raise ConfigError(f"missing key {prefix + missing!r}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error


def checked(kind: type[Any], values: Mapping[str, Any]) -> JsonObject:
    """Values of fields of the dataclass `kind`, by their names, held to the fields' types and ranges. For values that
    come from Python and not from data: numbers of numpy are numbers too, and are given back as Python's."""
    fields = _shape(kind).fields
    return {name: fields[name].read(_of_python(value), name, None) for name, value in values.items()}


def _of_python(value: Any) -> Any:
    as_python = getattr(value, "item", None)
    return as_python() if getattr(value, "ndim", None) == 0 and callable(as_python) else value


def to_dict(record: Any) -> JsonObject:
    """Plain JSON data from a dataclass, such that `from_dict` gives it back; keys without a value are left out."""
    plain = {}
    for key, item in _shape(type(record)).written.items():
        value = getattr(record, item.name)
        if value is not None:
            plain[key] = value if type(value) in _PLAIN else _plain(value)
    return plain


def expectations(kind: type[Any]) -> dict[str, str]:
    """What each key of a dataclass expects, in words."""
    return {key: item.type.expected for key, item in _shape(kind).written.items()}


_PLAIN = frozenset((str, int, float, bool, dict))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return to_dict(value) if dataclasses.is_dataclass(value) else value


# --- types ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Type:
    """A type of values: what is expected, in words, and how a value is read (from the value, its key, and `base`)."""

    expected: str
    read: Callable[[Any, str, Path | None], Any]
    plain: type[Any] | None = None
    """Set if all values of this Python type belong to it, and are read as they are."""


@dataclass(frozen=True)
class _Key:
    name: str
    """Of the field."""
    type: _Type


@dataclass(frozen=True)
class _Shape:
    """The keys of a dataclass."""

    written: dict[str, _Key]
    keys: dict[str, _Key]
    """All that are read: those of earlier releases too."""
    required: dict[str, str]
    """Keys by the names of their fields."""
    fields: dict[str, _Type]
    """Types by the names of fields."""


_SHAPES: dict[type[Any], _Shape] = {}


def _shape(kind: type[Any]) -> _Shape:
    """Worked out once: some records come a hundred thousand at a time."""
    if kind not in _SHAPES:
        hints, keys = typing.get_type_hints(kind, include_extras=True), getattr(kind, "KEYS", {})
        written, required = {}, {}
        for item in dataclasses.fields(kind):
            key = keys.get(item.name, item.name)
            written[key] = _Key(item.name, _type(hints[item.name]))
            if item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
                required[item.name] = key
        old = {name: written[key] for name, key in getattr(kind, "OLD_KEYS", {}).items()}
        _SHAPES[kind] = _Shape(written, written | old, required, {key.name: key.type for key in written.values()})
    return _SHAPES[kind]


def _type(hint: Any) -> _Type:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _ruled(_type(arguments[0]), arguments[1])
    if origin in (typing.Union, types.UnionType):
        members = [_type(one) for one in arguments if one is not type(None)]
        return _either(members, optional=type(None) in arguments)
    if origin is Literal:
        return _ruled(_plain_type(str), one_of(*arguments))
    if origin is tuple:
        return _list(arguments)
    if origin is dict or hint is Any:
        return _plain_type(dict) if origin is dict else _Type("anything", lambda value, key, base: value)
    if hint is float:
        return _Type("a number", _read_number)
    if hint is Path:
        return _Type("a path", read_path)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _table(hint)
    return _plain_type(hint) if hint in _NAMES else _instance_type(hint)


_NAMES: dict[type[Any], str] = {int: "a whole number", str: "a string", bool: "true or false", dict: "an object"}


def _plain_type(kind: type[Any]) -> _Type:
    expected = _NAMES[kind]

    def read(value: Any, key: str, base: Path | None) -> Any:
        # Not isinstance: true is a whole number to Python.
        if type(value) is not kind:
            raise MismatchError(key, value, expected)
        return value

    return _Type(expected, read, kind)


def _instance_type(kind: type[Any]) -> _Type:
    """Objects of a class that no data holds; only `checked` meets them."""

    def read(value: Any, key: str, base: Path | None) -> Any:
        if not isinstance(value, kind):
            raise MismatchError(key, value, f"a {kind.__name__}")
        return value

    return _Type(f"a {kind.__name__}", read)


def _read_number(value: Any, key: str, base: Path | None) -> float:
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise MismatchError(key, value, "a number") from None
    if type(value) is not float or not math.isfinite(value):
        raise MismatchError(key, value, "a number")
    return value


def read_path(value: Any, key: str, base: Path | None) -> Path:
    """A path; a relative one is relative to `base`."""
    if not isinstance(value, str):
        raise MismatchError(key, value, "a path")
    path = Path(value).expanduser()
    return path if base is None or path.is_absolute() else base / path


def _ruled(inner: _Type, rule: Rule) -> _Type:
    def read(value: Any, key: str, base: Path | None) -> Any:
        if type(value) is inner.plain and rule.holds(value):
            return value
        try:
            found = inner.read(value, key, base)
        except MismatchError as error:
            if error.key != key:
                raise  # an entry of the list
            raise MismatchError(key, value, rule.expected) from None
        if not rule.holds(found):
            raise MismatchError(key, value, rule.expected)
        return found

    return _Type(rule.expected, read)


def _either(members: list[_Type], optional: bool) -> _Type:
    expected = " or ".join(member.expected for member in members)

    def read(value: Any, key: str, base: Path | None) -> Any:
        if optional and value is None:
            return None
        for member in members[:-1]:
            with suppress(ConfigError):
                return member.read(value, key, base)
        try:
            return members[-1].read(value, key, base)
        except MismatchError:
            if len(members) == 1:
                raise
            raise MismatchError(key, value, expected) from None

    return _Type(expected, read)


def _list(arguments: tuple[Any, ...]) -> _Type:
    any_length = arguments[-1] is Ellipsis
    entries = [_type(one) for one in arguments if one is not Ellipsis]

    def read(value: Any, key: str, base: Path | None) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise MismatchError(key, value, "a list")
        if not any_length and len(value) != len(entries):
            raise ConfigError(f"{key} has {len(value)} entries, expected {len(entries)}")
        kinds = entries * len(value) if any_length else entries
        try:
            return tuple(entry.read(item, "", base) for entry, item in zip(kinds, value, strict=True))
        except ConfigError:
            # Once more, with the keys that an error names: they take longer than the reading.
            return tuple(
                entry.read(item, f"{key}[{i}]", base) for i, (entry, item) in enumerate(zip(kinds, value, strict=True))
            )

    return _Type("a list", read)


def _table(kind: type[Any]) -> _Type:
    def read(value: Any, key: str, base: Path | None) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, dict):
            raise MismatchError(key, value, "a table")
        return from_dict(kind, value, base, f"{key}.")

    return _Type("a table", read)
