"""Where the models are that people have added: `models/` in the user's data folder, or in `TURIA_HOME`.

Each is a model folder under its name. A name cannot leave the folder, and is none of those that come with the package.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from platformdirs import user_data_path

from turia.errors import InputError

PACKAGED = Path(__file__).parents[1] / "models"
_NAME = re.compile(r"\w[\w.+-]*")


def packaged_models() -> list[str]:
    """Names of the models that came with the package."""
    return _names(PACKAGED)


def added_models() -> list[str]:
    """Names of the models that were added."""
    return _names(models_folder())


def models_folder() -> Path:
    """Where models are added; it need not be there."""
    home = os.environ.get("TURIA_HOME")
    return (Path(home).expanduser() if home else user_data_path("turia", appauthor=False)) / "models"


def named_model(name: str) -> Path | None:
    """The folder of the model of a name, if there is one."""
    if name in packaged_models():
        return PACKAGED / name
    return models_folder() / name if name in added_models() else None


def check_name(name: str) -> None:
    """Refuses a name that a new model cannot have."""
    if not _NAME.fullmatch(name):
        raise InputError(f"name {name!r}: expected letters, digits and . + - _, such as opus-mt-de-en")
    if name in packaged_models():
        raise InputError(f"name {name!r}: a model of this name comes with Turia; choose another one with --name")


def _names(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/config.json") if not path.parent.name.startswith("."))
