"""The help of every command is as recorded in tests/cli_help.txt, so that the command line cannot grow unseen.

Words are compared, not their layout. What Typer draws around them differs with its releases: frames, colours, brackets,
names of types. After a change that is meant: `python -m tests.test_cli_help > tests/cli_help.txt`.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from turia.cli import app, main

RECORDED = Path(__file__).with_name("cli_help.txt")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DRAWN = re.compile(r"[\u2500-\u257f<>\[\]{}]")
TYPES = {"int", "integer", "range", "float", "str", "text", "path", "list"}


def commands(command: Any, name: str = "turia") -> Iterator[str]:
    """The full names of a command and of all below it, in the order of the help."""
    yield name
    for word, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {word}")


def whole_help() -> str:
    """The help of all commands, each under its command line."""
    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown):
        for name, value in {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}.items():
            patch.setenv(name, value)
        for name in commands(typer.main.get_command(app)):
            print(f"$ {name} --help")
            assert main([*name.split()[1:], "--help"]) == 0
            print()
    return shown.getvalue().rstrip() + "\n"


def words(text: str) -> list[str]:
    """What is said, a text for each command, without what is only drawn."""
    plain = DRAWN.sub(" ", COLOURS.sub("", text))
    return [" ".join(word for word in part.split() if word.lower() not in TYPES) for part in plain.split("\n$ ")]


@pytest.mark.slow
def test_the_help_is_as_recorded() -> None:
    assert words(whole_help()) == words(RECORDED.read_text(encoding="utf-8"))


def test_only_what_is_said_is_compared() -> None:
    framed = "\x1b[1m╭─ Options ─╮\x1b[0m\n│ --k  INTEGER RANGE  Words │\n│ of lead. [x>=1] │\n╰──╯"
    assert words(framed) == words("Options\n  --k <int range>  Words of lead.  [x>=1]")
    assert words(framed) != words("Options\n  --k <int range>  Words of delay.  [x>=1]")


if __name__ == "__main__":
    print(whole_help(), end="")
