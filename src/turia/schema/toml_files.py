"""TOML files: a dataclass from a file and those that it extends; a complaint names the file and the line."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from pathlib import Path
from typing import Any, TypeVar

from turia.errors import ConfigError
from turia.schema.records import JsonObject, from_dict, read_path, to_dict

T = TypeVar("T")


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
        other = read_path(data["extends"], "extends", base).resolve()
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
