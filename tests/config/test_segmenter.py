"""Recipes of segmenters."""

from __future__ import annotations

import pytest

from turia.config import SegmenterModel
from turia.errors import ConfigError


def test_a_segmenter_has_a_window_and_ids_of_16_bits() -> None:
    with pytest.raises(ConfigError, match="windows is empty, expected at least one number of future words"):
        SegmenterModel(windows=())
    with pytest.raises(ConfigError, match="vocabulary is 65001, expected at most 65000"):
        SegmenterModel(vocabulary=65_001)
    assert SegmenterModel(vocabulary=65_000, windows=(0,)).windows == (0,)
