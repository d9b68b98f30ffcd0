"""Recipes of sweeps: those that make no sense are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turia.config import PolicyRecipe, SweepRecipe, load_recipe
from turia.errors import ConfigError
from turia.policy.act import halting_head
from turia.policy.base import LearnedPolicy
from turia.policy.chunk import source_head
from turia.policy.table import parse_policy
from turia.schema import from_dict

RECIPES = Path(__file__).parents[2] / "recipes"

PUBLISHED = {"name": "x", "corpus": {}, "published": {"folder": "y"}}


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"k": [], "offline": False}, "nothing to translate"),
        ({"models": []}, "models is empty"),
        ({"models": ["a/de-en", "b/de-en"]}, "two models have one name"),
        ({"models": ["a/de-en"], "bounds": ["b/de-en"]}, "two models have one name"),
        ({"resamples": 1}, "resamples is 1"),
        ({"free": ["reverse"]}, "reverse_model and 'reverse' in free belong together"),
        ({"free": ["attention"], "reverse_model": "x"}, "reverse_model and 'reverse' in free belong together"),
        ({"free": ["length"]}, "free"),
        ({"latency": "sentence", "windows": [], "free": ["attention"]}, "needs the sentences of the reference"),
        ({"latency": "sentence"}, "latency is 'sentence', which needs the sentences of the reference"),
        (
            {"latency": "sentence", "windows": [], "test": [PUBLISHED]},
            "latency is 'sentence', but published outputs are streams",
        ),
        ({"baseline": "w = 0"}, "baseline is set, but resamples is 0"),
        ({"test": [{"name": "x", "corpus": {}}, {"name": "x", "corpus": {}}]}, "two test sets have one name"),
        ({"test": [{"name": "a b", "corpus": {}}, {"name": "a-b", "corpus": {}}]}, "names that make one folder"),
        ({"regimes": [6, 3]}, r"regimes is \[6\.0, 3\.0\], expected growing numbers"),
        ({"windows": [-1]}, r"windows\[0\] is -1"),
        ({"k": [4, 1000]}, "k of 1000 words or more reads whole sentences"),
        ({"k": [4, 8, 4]}, r"k is \[4, 8, 4\], expected each value once"),
        ({"history": [60, 60]}, "history is .* expected each value once"),
        ({"recompute": [True, True]}, "recompute is .* expected each value once"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(keys: dict[str, object], cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        from_dict(SweepRecipe, {"folder": "x", "test": [{"name": "toy", "corpus": {}}], **keys})


@pytest.mark.parametrize("path", sorted(RECIPES.glob("compare-*.toml")), ids=lambda path: str(path.stem))
def test_models_and_heads_of_the_comparison_are_those_that_its_recipes_make(path: Path) -> None:
    """What does not fit together would be found out after hours of training."""
    recipe = load_recipe(SweepRecipe, path)
    heads: dict[str, set[str]] = {}
    for other in RECIPES.glob("policy-*.toml"):
        trained = load_recipe(PolicyRecipe, other)
        heads[str(trained.export)] = {
            *map(halting_head, trained.act.lag_costs),
            *map(source_head, trained.chunk.delays),
        }
    exports = re.findall(
        r"^# {3}turia export \S+ (\S+)", "".join(one.read_text("utf-8") for one in RECIPES.glob("*.toml")), re.MULTILINE
    )
    made = {"de-en", "en-de", *heads, *(str(Path(one).expanduser()) for one in exports)}
    named = [str(Path(name).expanduser()) for name in (*recipe.models, *recipe.wait_k_models, *recipe.bounds)]
    assert set(named) <= made
    for policy in map(parse_policy, recipe.policies):
        assert isinstance(policy, LearnedPolicy)
        for name in recipe.models:
            assert policy.head_names()[0] in heads[str(Path(name).expanduser())]
