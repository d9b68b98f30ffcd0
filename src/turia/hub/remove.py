"""Removes models that were added. Needs nothing of an extra."""

from __future__ import annotations

import shutil
from pathlib import Path

from turia.errors import InputError, ResourceError
from turia.runtime.home import added_models, models_folder, packaged_models


def remove(name: str) -> Path:
    """Deletes an added model; gives the folder that was its."""
    if name in packaged_models():
        raise InputError(f"model {name!r} came with Turia and stays; models that were added can be removed")
    if name not in added_models():
        known = ", ".join(added_models()) or "none"
        raise InputError(f"no model {name!r} was added; added models: {known}")
    folder = models_folder() / name
    hidden = folder.with_name(f".{name}.removed")
    try:
        # Under its name it is there as a whole or not at all, also if this is interrupted.
        shutil.rmtree(hidden, ignore_errors=True)
        shutil.move(folder, hidden)
        shutil.rmtree(hidden)
    except OSError as error:
        raise ResourceError(f"{folder}: could not be removed: {error.strerror}") from error
    return folder
