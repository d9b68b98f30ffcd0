"""Typed data: plain data from TOML and JSON in, frozen dataclasses out, and back.

Everything that comes from outside is read here: recipes, model folders, traces, messages on the wire, requests. So
there is one rule for types, one for ranges, and one wording for errors:

    training.steps is 1.0, expected a whole number from 1

A value is never converted, but for whole numbers where a number is expected: true is not 1, and "4" is not 4. The
range of a value is part of its type (`Annotated[int, whole(1, 100)]`); what several values must satisfy together is
checked by the dataclass, in `__post_init__`.

Keys that a dataclass does not know are refused, with the nearest known one named, or passed over, where data of later
releases is to be read too. Paths are relative to the folder of the file that names them. A TOML file may begin with
`extends = "other.toml"`: its keys then replace those of the other, table by table.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Never, TypeVar

from turia.errors import ConfigError, FormatError

JsonObject = dict[str, Any]
T = TypeVar("T")


# --- ranges -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What a value must satisfy beside its type; `expected` says both in words."""

    holds: Callable[[Any], bool]
    expected: str


def whole(least: int, most: int | None = None) -> Rule:
    """A whole number in a range, both ends included."""
    end = "" if most is None else f" to {most}"
    return Rule(lambda value: value >= least and (most is None or value <= most), f"a whole number from {least}{end}")


def number(words: str, holds: Callable[[float], bool]) -> Rule:
    """A number in a range: `number("above 0", lambda value: value > 0)`."""
    return Rule(holds, f"a number {words}")


def text(longest: int) -> Rule:
    """A string that is not empty."""
    return Rule(lambda value: 1 <= len(value) <= longest, f"a string of 1 to {longest} letters")


def one_of(*choices: str) -> Rule:
    """One of these strings. A `Literal` says the same, but every caller must then have that type."""
    return Rule(lambda value: value in choices, f"one of {', '.join(map(repr, choices))}")


Natural = Annotated[int, whole(0)]
Positive = Annotated[int, whole(1)]
NotNegative = Annotated[float, number("from 0", lambda value: value >= 0)]
AboveZero = Annotated[float, number("above 0", lambda value: value > 0)]
AtLeastOne = Annotated[float, number("from 1", lambda value: value >= 1)]
Share = Annotated[float, number("from 0 to 1", lambda value: 0 <= value <= 1)]
BelowOne = Annotated[float, number("from 0 to below 1", lambda value: 0 <= value < 1)]


# --- errors -----------------------------------------------------------------------------------------------------------


class MismatchError(ConfigError):
    """A value that its key does not allow."""

    def __init__(self, key: str, value: Any, expected: str) -> None:
        super().__init__(f"{key} is {_shortened(repr(value))}, expected {expected}")
        self.key, self.value, self.expected = key, value, expected

    def without_text(self) -> str:
        """The same for strangers and for logs: it repeats numbers, but no text of a user."""
        kind = _KINDS.get(type(self.value))
        return f"{self.key} is {kind or _shortened(repr(self.value))}, expected {self.expected}"


_KINDS: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}


def _shortened(shown: str) -> str:
    return shown if len(shown) <= 100 else f"{shown[:100]}…"


# --- dataclasses from plain data --------------------------------------------------------------------------------------


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
            hint = f"; did you mean {prefix + near[0]!r}?" if near else f"; known keys: {', '.join(shape.written)}"
            raise ConfigError(f"unknown key {prefix + given!r}{hint}")
    if not shape.required.keys() <= values.keys():
        missing = next(key for name, key in shape.required.items() if name not in values)
        raise ConfigError(f"missing key {prefix + missing!r}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error


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
        _SHAPES[kind] = _Shape(written, written | old, required)
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
        return _Type("a path", _read_path)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _table(hint)
    return _plain_type(hint)


def _plain_type(kind: type[Any]) -> _Type:
    expected = {int: "a whole number", str: "a string", bool: "true or false", dict: "an object"}[kind]

    def read(value: Any, key: str, base: Path | None) -> Any:
        # Not isinstance: true is a whole number to Python.
        if type(value) is not kind:
            raise MismatchError(key, value, expected)
        return value

    return _Type(expected, read, kind)


def _read_number(value: Any, key: str, base: Path | None) -> float:
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise MismatchError(key, value, "a number") from None
    if type(value) is not float or not math.isfinite(value):
        raise MismatchError(key, value, "a number")
    return value


def _read_path(value: Any, key: str, base: Path | None) -> Path:
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
        if not isinstance(value, dict):
            raise MismatchError(key, value, "a table")
        return from_dict(kind, value, base, f"{key}.")

    return _Type("a table", read)


# --- JSON -------------------------------------------------------------------------------------------------------------


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


# --- TOML -------------------------------------------------------------------------------------------------------------


def load_toml(kind: type[T], path: Path) -> T:
    """The dataclass `kind` from a TOML file; every complaint names the file, the line and the key."""
    return _load(kind, path, ())


def _load(kind: type[T], path: Path, above: tuple[Path, ...]) -> T:
    """`above` are the files that extend this one, to notice a circle."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a TOML file") from error
    try:
        content = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 at byte {error.start}") from error
    try:
        data = tomllib.loads(content)
    except (ValueError, RecursionError) as error:  # not TOML, a number of 5,000 digits, brackets 5,000 deep
        raise ConfigError(f"{path}: not TOML: {error}") from error
    base = path.parent.absolute()
    extended: JsonObject = {}
    if "extends" in data:
        other = _read_path(data["extends"], "extends", base).resolve()
        if other in (path.resolve(), *above):
            raise ConfigError(f"{path}: extends {other}, which extends this file")
        extended = to_dict(_load(kind, other, (*above, path.resolve())))
    try:
        return from_dict(kind, _merged(kind, extended, data), base)
    except ConfigError as error:
        line = _line_of(kind, content, extended, base, str(error))
        raise ConfigError(f"{path}:{line}: {error}" if line else f"{path}: {error}") from error


def _merged(kind: Any, below: JsonObject, above: JsonObject) -> JsonObject:
    """The keys of both; where both have one, tables are merged and any other value is that of `above`.

    Of keys that a dataclass has as `ALTERNATIVES`, `above` decides: a file cannot unset what another one says.
    """
    merged = dict(below)
    for names in getattr(kind, "ALTERNATIVES", ()):
        if not above.keys().isdisjoint(names):
            merged = {key: value for key, value in merged.items() if key not in names}
    kinds = typing.get_type_hints(kind) if dataclasses.is_dataclass(kind) else {}
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(kinds.get(key), merged[key], value)
        else:
            merged[key] = value
    merged.pop("extends", None)
    return merged


def _line_of(kind: type[Any], content: str, extended: JsonObject, base: Path, complaint: str) -> int:
    """The line whose reading first gives rise to a complaint; 0 where the empty file does: a key is missing."""
    lines = content.split("\n")
    for line in range(len(lines) + 1):
        try:
            from_dict(kind, _merged(kind, extended, tomllib.loads("\n".join(lines[:line]))), base)
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        except ConfigError as error:
            if str(error) == complaint:
                return line
    return len(lines)
