"""Named sizes. BASE and BIG are the paper's (METHOD section 4); `small` suits a CPU, `tiny` the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from turia.config import Anchor, Conventions, Encoder, ModelSettings, Positions
from turia.errors import ConfigError

Precision = Literal["float32", "int8"]
"""Of a model's matrices."""
ROTARY_BASE = 1_000
"""Of the slowest rotation of rotary positions; the usual 10,000 is for texts longer than our windows."""


@dataclass(frozen=True)
class Shape:
    """All that determines the Transformer's computation, but its weights."""

    width: int
    feed_forward: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    source_vocabulary: int
    target_vocabulary: int
    joint: bool
    """One embedding for both sides."""
    encoder: Encoder
    anchor: Anchor
    pre_norm: bool
    max_positions: int
    conventions: Conventions = "turia"
    positions: Positions = "sinusoidal"

    @property
    def marian(self) -> bool:
        return self.conventions == "marian"


PRESETS: dict[str, tuple[int, int, int, int, int]] = {
    # width, feed forward, heads, encoder layers, decoder layers
    "tiny": (64, 128, 4, 2, 2),
    "small": (256, 1024, 4, 6, 3),
    "base": (512, 2048, 8, 6, 6),
    "big": (1024, 4096, 16, 6, 6),
}


def shape_of(model: ModelSettings, source_vocabulary: int, target_vocabulary: int, joint: bool) -> Shape:
    """The preset's sizes, with what the recipe sets in their place."""
    width, feed_forward, heads, encoder_layers, decoder_layers = PRESETS[model.preset]
    width, heads = model.width or width, model.heads or heads
    if width % heads or width % 2 or width < 4:
        raise ConfigError(
            f"model.width is {width}, expected an even number of 4 or more that the {heads} heads can share"
        )
    if model.positions == "rotary" and (width // heads) % 2:
        raise ConfigError(
            f"model.positions is 'rotary', which turns halves of a head against each other, but a head has "
            f"{width // heads} dimensions (model.width / model.heads), expected an even number"
        )
    return Shape(
        width=width,
        feed_forward=model.feed_forward or feed_forward,
        heads=heads,
        encoder_layers=model.encoder_layers or encoder_layers,
        decoder_layers=model.decoder_layers or decoder_layers,
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        joint=joint,
        encoder=model.encoder,
        anchor=model.anchor,
        pre_norm=model.norm == "pre",
        max_positions=model.max_positions,
        conventions=model.conventions,
        positions=model.positions,
    )
