"""Everything Turia raises on purpose.

    TuriaError                  a message for people: what was expected, what came, what to do
    ├── InputError (ValueError) something the user can mend; the command line exits with 2
    │   ├── ConfigError         an unknown or ill-typed key, a value out of range
    │   ├── FormatError         a file that is not what it should be; names file and line
    │   └── ModelError          a model folder that is incomplete, altered or of another version
    ├── ResourceError           the machine said no (disk full, port taken); the command line exits with 1
    └── Stopped                 no fault: a signal ended long work, and what was done is kept; 128 + its number

Rules: invariants of our own code are `assert`s, never these. `python -O` removes those, so what keeps native code from
memory that is not its own is a `RuntimeError` or an `IndexError`. A message is one line.
"""

from __future__ import annotations

from pathlib import Path


class TuriaError(Exception):
    """Base of all errors that Turia raises on purpose."""

    exit_code = 1


class InputError(TuriaError, ValueError):
    """Something the user gave and can mend."""

    exit_code = 2


class ConfigError(InputError):
    """A recipe or setting that says something Turia does not understand."""


class FormatError(InputError):
    """A file whose content is not what it should be."""

    def __init__(self, cause: str, path: Path | str | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + cause)


class ModelError(InputError):
    """A model folder that cannot be used."""


class ResourceError(TuriaError):
    """The machine refused: no space, no memory, no port."""


class Stopped(TuriaError):  # noqa: N818  (it is none)
    """A signal ended the work before its planned end; whoever starts it again goes on with it."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.exit_code = 128 + signal
