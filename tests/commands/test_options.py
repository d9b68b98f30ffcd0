"""Which options were given: those of the command line, be it with the default's value."""

from __future__ import annotations

from typing import Annotated

import typer

from turia.commands.options import typed


def given(*arguments: str) -> list[str]:
    found: list[str] = []
    app = typer.Typer()

    @app.command()
    def command(
        context: typer.Context,
        beam: int = 1,
        history: Annotated[int | None, typer.Option()] = None,
        hub: bool = False,
    ) -> None:
        found.extend(typed(context, "beam", "history", "hub"))

    app(list(arguments), standalone_mode=False)
    return found


def test_only_what_was_typed_counts() -> None:
    assert given() == []
    assert given("--history", "60") == ["history"]
    assert given("--hub", "--beam", "1") == ["beam", "hub"]
