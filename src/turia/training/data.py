"""The prepared data of a recipe, checked against it: training must not find out in its second hour."""

from __future__ import annotations

from dataclasses import dataclass, replace

from turia.config import Recipe
from turia.corpus.prepare import digest
from turia.corpus.shards import Meta, Shards, load_subwords
from turia.errors import ConfigError, TuriaError
from turia.text.subwords import Subwords


@dataclass(frozen=True)
class PreparedData:
    """What a run learns from and is looked at with."""

    train: Shards
    dev: Shards
    subwords: tuple[Subwords, Subwords]
    """Source and target; the same object if joint."""


def open_data(recipe: Recipe) -> PreparedData:
    """Maps what `turia prepare` has left for this recipe."""
    if recipe.training.steps is None and recipe.training.hours is None:
        raise ConfigError("training has no end: set training.steps or training.hours")
    if not recipe.data.dev:
        raise ConfigError("data.dev is empty: training needs a dev set to find its best checkpoint")
    folder = recipe.data.folder
    data = PreparedData(Shards.open(folder / "train"), Shards.open(folder / "dev"), load_subwords(folder))
    for shards in (data.train, data.dev):
        _check(shards.meta, recipe)
    return data


def is_stale(data: PreparedData, recipe: Recipe) -> bool:
    """Whether the recipe's part for `turia prepare`, or what its corpora hold, is no longer what was prepared.

    Where the corpora are not at hand, as on a machine that only trains, nothing is taken to have changed.
    """
    positions = data.train.meta.max_positions
    try:
        wanted = digest(replace(recipe, model=replace(recipe.model, max_positions=positions)))
    except (OSError, TuriaError):
        return False
    return wanted != data.train.meta.recipe


def _check(meta: Meta, recipe: Recipe) -> None:
    joint = meta.source_subwords == meta.target_subwords
    # More positions than the data was prepared for do no harm; fewer would not hold its longest samples.
    positions = min(meta.max_positions, recipe.model.max_positions)
    for key, prepared, wanted in (
        ("source_language", meta.source_language, recipe.source_language),
        ("target_language", meta.target_language, recipe.target_language),
        ("windows.history", meta.history, recipe.windows.history),
        ("model.max_positions", meta.max_positions, positions),
        ("subwords.joint", joint, recipe.subwords.joint),
    ):
        if prepared != wanted:
            raise ConfigError(
                f"{key} is {wanted!r}, but {recipe.data.folder} was prepared with {prepared!r}; "
                f"run `turia prepare` on this recipe first"
            )
