"""READ and WRITE: what a simultaneous translator does, one action at a time.

A log of actions is text: `R` and `W`, with or without white space between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from turia.errors import FormatError


class Action(StrEnum):
    """READ takes the next source word; WRITE commits the next target word."""

    READ = "R"
    WRITE = "W"


def parse_actions(text: str, path: str | None = None) -> list[Action]:
    """The actions in `text`; anything but R, W and white space is refused with its place."""
    actions: list[Action] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for column, letter in enumerate(line, start=1):
            if letter == "R":
                actions.append(Action.READ)
            elif letter == "W":
                actions.append(Action.WRITE)
            elif not letter.isspace():
                raise FormatError(f"column {column}: expected R or W, found {letter!r}", path, number)
    return actions


def format_actions(actions: Iterable[Action]) -> str:
    """One line, actions separated by single spaces, as the authors' logs are."""
    return " ".join(actions)
