"""From a TOML file to a recipe of one of the kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from turia.config.corpus import check_dev_apart
from turia.config.policy import PolicyRecipe
from turia.config.segmenter import SegmenterRecipe
from turia.config.sweep import SweepRecipe
from turia.config.training import Recipe
from turia.errors import ConfigError
from turia.schema import load_toml

T = TypeVar("T")
COMMANDS: dict[type[Any], str] = {
    Recipe: "`turia prepare` and `turia train`",
    SegmenterRecipe: "`turia segmenter train`",
    PolicyRecipe: "`turia policy train`",
    SweepRecipe: "`turia sweep`",
}
"""Kinds of recipes, and what reads them."""


def load_recipe(kind: type[T], path: Path) -> T:
    """A recipe of this kind from a file. One of another kind is called so: its keys would seem to be misspelt."""
    try:
        recipe = load_toml(kind, path)
    except ConfigError:
        for other, command in COMMANDS.items():
            if other is not kind and _can_be(other, path):
                raise ConfigError(f"{path}: this is a recipe for {command}") from None
        raise
    # Not in `__post_init__`: run folders of earlier releases may hold such a recipe, and are still read.
    if isinstance(recipe, Recipe | SegmenterRecipe):
        try:
            check_dev_apart(recipe.data.train, recipe.data.dev)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return recipe


def _can_be(kind: type[Any], path: Path) -> bool:
    try:
        load_toml(kind, path)
    except ConfigError:
        return False
    return True
