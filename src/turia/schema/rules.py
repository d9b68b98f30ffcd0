"""The range of a value, which is part of its type (`Annotated[int, whole(1, 100)]`), and the error beyond it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from turia.errors import ConfigError


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
    """A string that is not empty, and that can be written: JSON may have half characters, which no store takes."""
    return Rule(
        lambda value: 1 <= len(value) <= longest and not has_half_characters(value),
        f"a string of 1 to {longest} letters",
    )


def has_half_characters(value: str) -> bool:
    """Whether there are surrogates in it that are no pair, as JSON lets anybody send them: they are no Unicode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


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
