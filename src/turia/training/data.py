"""Opens the prepared data of a recipe, and checks that they belong together before training begins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from turia.config import Recipe
from turia.corpus.prepare import digest
from turia.corpus.report import read_report
from turia.corpus.shards import Meta, Shards, load_subwords
from turia.errors import ConfigError, TuriaError
from turia.text.subwords import Subwords


@dataclass(frozen=True)
class PreparedData:
    """The training and dev sets of a run, and its subwords."""

    train: Shards
    dev: dict[str, Shards]
    """Each dev corpus by its short name; all of them are parts of one folder."""
    subwords: tuple[Subwords, Subwords]
    """Source and target; the same object if joint."""


def open_data(recipe: Recipe) -> PreparedData:
    """Maps what `turia prepare` has left for this recipe."""
    if recipe.training.steps is None and recipe.training.hours is None:
        raise ConfigError("training has no end: set training.steps or training.hours")
    if not recipe.data.dev:
        raise ConfigError("data.dev is empty: training needs a dev set to find its best checkpoint")
    folder = recipe.data.folder
    train, dev = Shards.open(folder / "train"), Shards.open(folder / "dev")
    for shards in (train, dev):
        _check(shards.meta, recipe)
    subwords = load_subwords(folder)
    _check_subwords(subwords, {"train": train.meta, "dev": dev.meta}, folder)
    return PreparedData(train, _by_corpus(dev, folder), subwords)


def _by_corpus(dev: Shards, folder: Path) -> dict[str, Shards]:
    """The dev corpora one by one. They lie one after the other, as the report of the preparation has them."""
    report = read_report(folder)
    corpora = [corpus for corpus in report.corpora if corpus.split == "dev"] if report is not None else []
    sizes = [corpus.sizes.sentences for corpus in corpora]
    if sum(sizes) != len(dev):  # a folder without its report, or with another's
        return {"dev": dev}
    ends = np.cumsum(sizes)
    names = _short_names([corpus.name for corpus in corpora])
    return {
        name: dev.part(int(end - size), int(end)) for name, size, end in zip(names, sizes, ends, strict=True) if size
    }


def _short_names(corpora: Sequence[str]) -> list[str]:
    """`europarl-st/deen.dev.tsv.xz` becomes `deen.dev`. If two would get the same name, they keep their folder or get
    a number."""
    names = [re.sub(r"(\.(xz|gz|tsv|xml|txt))+$", "", corpus) for corpus in corpora]
    short = [PurePosixPath(name).name for name in names]
    names = [last if short.count(last) == 1 else name for name, last in zip(names, short, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name}.{names[:place].count(name) + 1}"
        for place, name in enumerate(names)
    ]


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


def _check_subwords(subwords: tuple[Subwords, Subwords], splits: Mapping[str, Meta], folder: Path) -> None:
    """Refuses shards whose ids are those of other pieces: `turia prepare` was killed while it replaced the old ones."""
    mine = [hashlib.sha256(side.model).hexdigest() for side in subwords]
    for name, meta in splits.items():
        if mine != [meta.source_subwords, meta.target_subwords]:
            raise ConfigError(
                f"{folder}: {name}/ was encoded with other subwords than those beside it, as after an interrupted "
                "preparation; run `turia prepare` on this recipe again"
            )


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
