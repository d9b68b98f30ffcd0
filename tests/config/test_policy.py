"""Recipes of learned policies' heads."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.config import ActHeads, ChunkHeads, PolicyRecipe
from turia.errors import ConfigError


@pytest.mark.parametrize("lags", [(), (2, 1), (1, 1, 2)])
def test_lags_grow(lags: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="expected growing numbers"):
        ActHeads(lags=lags)


def test_there_is_a_head_to_learn() -> None:
    with pytest.raises(ConfigError, match=r"nothing to learn: set chunk\.delays or act\.lag_costs"):
        PolicyRecipe("de-en", Path("out"), (), chunk=ChunkHeads(delays=()), act=ActHeads(lag_costs=()))
    assert PolicyRecipe("de-en", Path("out"), (), chunk=ChunkHeads(delays=())).act.lag_costs
