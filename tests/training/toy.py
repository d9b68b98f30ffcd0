"""A prepared toy corpus for tests of training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from turia.config import Recipe
from turia.corpus.prepare import prepare
from turia.typed import load_toml

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
    prepare(recipe, processes=1)
    return recipe
