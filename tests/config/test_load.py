"""Which kind of recipe a file is, and that those which come with Turia are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from turia.config import COMMANDS, PolicyRecipe, Recipe, SegmenterRecipe, SweepRecipe, load_recipe
from turia.errors import ConfigError
from turia.schema import from_dict, load_toml, to_dict

RECIPES = sorted((Path(__file__).parents[2] / "recipes").rglob("*.toml"))


def test_a_recipe_of_another_kind_is_called_so_whatever_its_first_key(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text('windows = [0]\nfolder = "x"\n[[test]]\nname = "toy"\ncorpus = {}\n')
    with pytest.raises(ConfigError, match="this is a recipe for `turia sweep`"):
        load_recipe(Recipe, path)


def test_a_recipe_of_another_kind_is_called_so() -> None:
    recipes = Path(__file__).parents[2] / "recipes"
    kinds: dict[str, type[Any]] = {
        "tiny": Recipe,
        "segmenter-de": SegmenterRecipe,
        "sweep-beam-de-en": SweepRecipe,
    }
    for name, own in kinds.items():
        path = recipes / f"{name}.toml"
        assert isinstance(load_recipe(own, path), own)
        for kind in set(kinds.values()) - {own}:
            with pytest.raises(ConfigError) as caught:
                load_recipe(kind, path)
            assert str(caught.value) == f"{path}: this is a recipe for {COMMANDS[own]}"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_the_recipes_that_come_with_turia_load_and_round_trip(path: Path) -> None:
    kinds: dict[str, type[Any]] = {"segmenter": SegmenterRecipe, "policy": PolicyRecipe}
    kinds |= dict.fromkeys(("sweep", "compare", "policies"), SweepRecipe)
    kind = kinds.get(path.name.split("-")[0], Recipe)
    loaded = load_toml(kind, path)
    assert from_dict(kind, to_dict(loaded)) == loaded
