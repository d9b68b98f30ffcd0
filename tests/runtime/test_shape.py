"""Named sizes, what a recipe sets in their place, and what no heads can share."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from turia.config import ModelSettings, Preset
from turia.errors import ConfigError
from turia.runtime.shape import MARIAN, PRESETS, read_shape, shape_of


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_a_preset_gives_the_sizes(preset: Preset) -> None:
    shape = shape_of(ModelSettings(preset=preset), 8000, 9000, joint=False)
    sizes = (shape.width, shape.feed_forward, shape.heads, shape.encoder_layers, shape.decoder_layers)
    assert sizes == PRESETS[preset]
    assert (shape.source_vocabulary, shape.target_vocabulary, shape.joint) == (8000, 9000, False)
    assert (shape.pre_norm, shape.activation, shape.positions) == (True, "relu", "sinusoidal")


def test_what_a_recipe_sets_is_taken() -> None:
    settings = ModelSettings(
        preset="base", width=128, feed_forward=300, heads=2, encoder_layers=1, decoder_layers=4,
        encoder="unidirectional", anchor="window", norm="post", positions="rotary", max_positions=99,
    )  # fmt: skip
    shape = shape_of(settings, 10, 10, joint=True)
    assert (shape.width, shape.feed_forward, shape.heads) == (128, 300, 2)
    assert (shape.encoder_layers, shape.decoder_layers, shape.max_positions) == (1, 4, 99)
    assert (shape.encoder, shape.anchor, shape.pre_norm, shape.positions) == (
        "unidirectional",
        "window",
        False,
        "rotary",
    )


def test_marian_s_conventions_are_values() -> None:
    shape = shape_of(ModelSettings(norm="post", conventions="marian"), 10, 10, joint=True)
    assert (shape.positions, shape.activation, shape.logits_bias, shape.source_opening) == (
        "marian",
        "swish",
        True,
        False,
    )
    values = {name: value for name, value in asdict(shape).items() if name not in MARIAN}
    # As release 0.1 wrote it, and as the release after it did.
    for positions in ({}, {"positions": "sinusoidal"}):
        assert read_shape({**values, **positions, "conventions": "marian"}) == shape
    assert read_shape({**values, "conventions": "turia"}).activation == "relu"
    with pytest.raises(ConfigError, match=r"shape\.conventions is 'fairseq', expected 'turia' or 'marian'"):
        read_shape({**values, "conventions": "fairseq"})


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        (ModelSettings(width=100, heads=8), "model.width is 100, expected an even number .* 8 heads can share"),
        (ModelSettings(width=9, heads=3), "model.width is 9, expected an even number"),
        (ModelSettings(width=2, heads=1), "model.width is 2, expected an even number of 4 or more"),
        (ModelSettings(width=20, heads=4, positions="rotary"), "a head has 5 dimensions .* expected an even number"),
    ],
)
def test_a_width_that_the_heads_cannot_share_is_refused(settings: ModelSettings, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        shape_of(settings, 10, 10, joint=True)
