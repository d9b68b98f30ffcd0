"""A prepared toy corpus for tests of training."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from turia.config import Recipe
from turia.corpus.prepare import prepare
from turia.schema import load_toml

TINY = Path(__file__).parents[2] / "recipes" / "tiny.toml"


def unprepared_recipe(folder: Path, **training: object) -> Recipe:
    """recipes/tiny.toml with its run and its data under `folder`; `training` replaces settings."""
    recipe = load_toml(Recipe, TINY)
    return replace(
        recipe,
        run=folder / "run",
        data=replace(recipe.data, folder=folder / "data"),
        training=replace(recipe.training, **training),  # type: ignore[arg-type]
    )


def toy_recipe(folder: Path, **training: object) -> Recipe:
    """The same, its corpus prepared."""
    recipe = unprepared_recipe(folder, **training)
    if not recipe.data.folder.exists():
        shutil.copytree(Path(_prepared().name) / "data", recipe.data.folder)
    return recipe


@lru_cache
def _prepared() -> tempfile.TemporaryDirectory[str]:
    """Prepared once, to be copied: none of its bytes depends on where it is. It goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="turia-toy-")
    prepare(unprepared_recipe(Path(folder.name)), processes=1)
    return folder
