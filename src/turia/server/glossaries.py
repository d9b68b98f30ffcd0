"""`turia serve --glossary [MODEL=]FILE`: the terms of all sessions that bring none of their own.

A file is read again when it changes; sessions have its new terms from their next sentence on. If it cannot be read
then, the terms stay as they were. The log and the operator's pages say so at once, whether a session runs or not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from turia.errors import InputError
from turia.runtime.glossary_file import LOOK_SECONDS, GlossaryFile, read_glossary
from turia.server.choices import Translating

log = logging.getLogger("turia.server")


class Table(NamedTuple):
    """A file of terms, for one model or for the only one."""

    model: str | None
    path: Path


def parse_tables(options: Sequence[str]) -> tuple[Table, ...]:
    """What was typed, with files that can be read."""
    tables = []
    for option in options:
        model, equals, path = option.rpartition("=")
        # A file may have = in its name.
        table = Table(None, Path(option)) if not equals or Path(option).exists() else Table(model, Path(path))
        read_glossary(table.path)
        tables.append(table)
    return tuple(tables)


def follow_glossaries(translators: Mapping[str, Translating], tables: Sequence[Table]) -> None:
    """Gives each model its file."""
    for model, path in tables:
        if model is None and len(translators) > 1:
            raise InputError(f"--glossary {path}: say for which model: {next(iter(translators))}={path}")
        name = next(iter(translators)) if model is None else model
        if name not in translators:
            raise InputError(f"--glossary {name}={path}: no such model here; there are {', '.join(translators)}")
        if translators[name].glossary_file is not None:
            raise InputError(f"--glossary {name}={path}: {name} has a glossary already; put all terms into one file")
        translators[name].glossary_file = GlossaryFile(path, translators[name].model, _warn)


async def watch_glossaries(translators: Mapping[str, Translating]) -> None:
    """Looks at all files, so that a wrong one is told of when it is written and not when somebody speaks."""
    files = [file for one in translators.values() if (file := one.glossary_file) is not None]
    while files:
        await asyncio.sleep(LOOK_SECONDS)
        for file in files:
            # A file may be on a slow disk.
            await asyncio.to_thread(file.current)


def _warn(text: str) -> None:
    # The text names a term of the operator's own file, nothing that was said.
    log.warning("a glossary cannot be read again: %s", text)
