"""Which options a user gave, for commands that refuse some beside others."""

from __future__ import annotations

import typer


def typed(context: typer.Context, *parameters: str) -> list[str]:
    """Those of the parameters that the user gave, even if with the default value."""
    sources = {name: context.get_parameter_source(name) for name in parameters}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
