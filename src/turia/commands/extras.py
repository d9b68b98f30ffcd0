"""Which extra of Turia a package belongs to, for commands that need one."""

from __future__ import annotations

from importlib.util import find_spec

from turia.errors import InputError

# Packages of the extras, by what is imported.
EXTRAS = {"train": ("onnx", "onnxscript", "py3langid", "safetensors", "torch"), "redis": ("redis",), "ray": ("ray",)}


def needs(extra: str) -> None:
    """Refuses to go on without the package that the extra is named after."""
    if find_spec(extra) is None:
        raise InputError(_install(extra))


def missing_extra(error: Exception) -> str | None:
    """What to say of an import that failed because an extra is not installed; None if that is not why."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    return next((_install(extra) for extra, packages in EXTRAS.items() if package in packages), None)


def _install(extra: str) -> str:
    return f"this needs the {extra} extra of Turia; install it: pip install 'turia[{extra}]'"
