"""Typed data from TOML and JSON: plain data in, frozen dataclasses out, and back.

Rules: a key that no dataclass knows is refused, with the nearest known one named; so is a value of the wrong type or
outside its range. Paths are relative to the folder of the file that names them. A TOML file may begin with
`extends = "other.toml"`: its keys are then laid over those of the other, table by table.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from turia.errors import ConfigError


@dataclass(frozen=True)
class Range:
    """What a value must keep beside its type, and how to say so."""

    holds: Callable[[Any], bool]
    words: str


Natural = Annotated[int, Range(lambda value: value >= 0, "0 or more")]
Positive = Annotated[int, Range(lambda value: value >= 1, "1 or more")]
NotNegative = Annotated[float, Range(lambda value: value >= 0, "0 or more")]
AboveZero = Annotated[float, Range(lambda value: value > 0, "above 0")]
AtLeastOne = Annotated[float, Range(lambda value: value >= 1, "1 or more")]
Share = Annotated[float, Range(lambda value: 0 <= value <= 1, "from 0 to 1")]
BelowOne = Annotated[float, Range(lambda value: 0 <= value < 1, "from 0 to below 1")]

T = TypeVar("T")


def load_toml(kind: type[T], path: Path) -> T:
    """The dataclass `kind` from a TOML file; every complaint names the file, the line and the key."""
    return _load(kind, path, ())


def _load(kind: type[T], path: Path, above: tuple[Path, ...]) -> T:
    """`above` are the files that extend this one, to notice a circle."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a TOML file") from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 at byte {error.start}") from error
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not TOML, a number of 5,000 digits, brackets 5,000 deep
        raise ConfigError(f"{path}: not TOML: {error}") from error
    base = path.parent.absolute()
    extended: dict[str, Any] = {}
    if "extends" in data:
        other = _value(Path, data["extends"], base, "extends").resolve()
        if other in (path.resolve(), *above):
            raise ConfigError(f"{path}: extends {other}, which extends this file")
        extended = to_dict(_load(kind, other, (*above, path.resolve())))
    try:
        return from_dict(kind, _laid_over(kind, extended, data), base)
    except ConfigError as error:
        line = _line_of(kind, text, extended, base, str(error))
        raise ConfigError(f"{path}:{line}: {error}" if line else f"{path}: {error}") from error


def _laid_over(kind: Any, below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
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
            merged[key] = _laid_over(kinds.get(key), merged[key], value)
        else:
            merged[key] = value
    merged.pop("extends", None)
    return merged


def _line_of(kind: type[Any], text: str, extended: dict[str, Any], base: Path, complaint: str) -> int:
    """The line whose reading first gives rise to a complaint; 0 where the empty file does: a key is missing."""
    lines = text.split("\n")
    for number in range(len(lines) + 1):
        try:
            from_dict(kind, _laid_over(kind, extended, tomllib.loads("\n".join(lines[:number]))), base)
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        except ConfigError as error:
            if str(error) == complaint:
                return number
    return len(lines)


def from_dict(kind: type[T], data: dict[str, Any], base: Path | None = None, prefix: str = "") -> T:
    """The dataclass `kind` from plain data. `base` is what relative paths are relative to."""
    assert dataclasses.is_dataclass(kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            hint = f"; did you mean {prefix + near[0]!r}?" if near else f"; known keys: {', '.join(fields)}"
            raise ConfigError(f"unknown key {prefix + key!r}{hint}")
        values[key] = _value(hints[key], value, base, prefix + key)
    for name, item in fields.items():
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise ConfigError(f"missing key {prefix + name!r}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error


def to_dict(config: Any) -> dict[str, Any]:
    """Plain JSON data from a dataclass, such that `from_dict` gives it back; unset keys are left out."""
    assert dataclasses.is_dataclass(config)
    plain = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if value is not None:
            plain[item.name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _value(expected: Any, value: Any, base: Path | None, key: str) -> Any:
    """`value` as the type `expected`, or a ConfigError that names the key."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin is Annotated:
        plain, required = arguments
        value = _value(plain, value, base, key)
        if not required.holds(value):
            raise ConfigError(f"{key} is {value!r}, expected {_NAMES[plain]}, {required.words}")
        return value
    if origin in (typing.Union, types.UnionType):
        return _value(next(kind for kind in arguments if kind is not type(None)), value, base, key)
    if origin is Literal:
        if value not in arguments:
            raise ConfigError(f"{key} is {value!r}, expected one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        return _tuple(arguments, value, base, key)
    if dataclasses.is_dataclass(expected) and isinstance(expected, type):
        if not isinstance(value, dict):
            raise ConfigError(f"{key} is {value!r}, expected a table")
        return from_dict(expected, value, base, key + ".")
    if expected is Path and isinstance(value, str):
        path = Path(value).expanduser()
        return path if base is None or path.is_absolute() else base / path
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise ConfigError(f"{key} is {value!r}, expected {_NAMES.get(expected, expected.__name__)}")
    return value


def _tuple(arguments: tuple[Any, ...], value: Any, base: Path | None, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{key} is {value!r}, expected a list")
    if arguments[-1] is not Ellipsis and len(value) != len(arguments):
        raise ConfigError(f"{key} has {len(value)} entries, expected {len(arguments)}")
    return tuple(
        _value(arguments[0] if arguments[-1] is Ellipsis else arguments[i], item, base, f"{key}[{i}]")
        for i, item in enumerate(value)
    )


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", Path: "a path"}
