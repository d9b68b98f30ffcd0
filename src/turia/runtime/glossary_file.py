"""A glossary in a file, which people change while an event runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from turia.engine.model import Model
from turia.engine.terms import check_glossary
from turia.errors import InputError
from turia.text.glossary import MOST_BYTES, Glossary, decode_glossary, parse_glossary

LOOK_SECONDS = 1.0
"""Between two looks whether the file has changed."""


def read_glossary(path: Path) -> Glossary:
    """The glossary of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(2 * MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot read the glossary: {error.strerror}") from error
    return parse_glossary(decode_glossary(data, str(path)), str(path))


class GlossaryFile:
    """The newest good state of a file. One that cannot be read leaves the terms as they were, and is told of once.
    Threads may share it."""

    def __init__(
        self,
        path: Path,
        model: Model,
        warn: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self._model, self._warn, self._clock = path, model, warn, clock
        self._looked, self._seen = clock(), _mark(path)
        self._looking = threading.Lock()
        self._glossary = self._read()
        self.problem: str | None = None
        """Why the file as it is now cannot be used."""

    def current(self) -> Glossary:
        """What the file says now, or said when it was last good. The same object as long as nothing changes."""
        with self._looking:
            now = self._clock()
            if now - self._looked >= LOOK_SECONDS:
                self._looked = now
                self._look()
            return self._glossary

    def _look(self) -> None:
        mark = _mark(self.path)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._glossary, self.problem = self._read(), None
        except InputError as error:
            self.problem = str(error)
            self._warn(f"{error}; the glossary stays as it was")

    def _read(self) -> Glossary:
        glossary = read_glossary(self.path)
        check_glossary(self._model, glossary)
        return glossary


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Differs when the file does: editors write another file, or the same one at another time."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
