"""The shape of the Transformer in a recipe: what contradicts itself is refused."""

from __future__ import annotations

import pytest

from turia.config import ModelSettings
from turia.errors import ConfigError


def test_sizes_come_from_the_preset_unless_they_are_set() -> None:
    assert ModelSettings(width=96).width == 96
    assert ModelSettings().width is None


def test_marian_s_conventions_have_sinusoids_and_no_opening_symbol() -> None:
    with pytest.raises(ConfigError, match="positions is 'rotary', but conventions is 'marian'"):
        ModelSettings(positions="rotary", conventions="marian")
    with pytest.raises(ConfigError, match="anchor is 'window', which counts from a symbol"):
        ModelSettings(anchor="window", conventions="marian")
    assert ModelSettings(positions="rotary").conventions == "turia"
