"""Recipes of sweeps: those that make no sense are refused."""

from __future__ import annotations

import pytest

from turia.config import SweepRecipe
from turia.errors import ConfigError
from turia.schema import from_dict

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
