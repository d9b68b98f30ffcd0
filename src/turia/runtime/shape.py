"""The shape of a model: its sizes and the kind of its Transformer, and presets of them.

The presets `base` and `big` are the paper's (METHOD section 4); `small` suits a CPU, `tiny` the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from turia.config import Anchor, Encoder, ModelSettings
from turia.errors import ConfigError
from turia.schema import Natural, Positive, checked, from_dict

Precision = Literal["float32", "int8"]
"""Of a model's matrices."""
Positions = Literal["sinusoidal", "marian", "rotary"]
"""How a model knows places. `marian` is sinusoidal with rates that stop just before the slowest one of the others."""
Activation = Literal["relu", "swish", "gelu"]


@dataclass(frozen=True)
class Shape:
    """Everything that determines the Transformer's computation, except its weights."""

    width: Positive
    feed_forward: Positive
    heads: Positive
    encoder_layers: Positive
    decoder_layers: Positive
    source_vocabulary: Positive
    target_vocabulary: Positive
    joint: bool
    """One embedding for both sides."""
    encoder: Encoder
    anchor: Anchor
    pre_norm: bool
    max_positions: Positive
    positions: Positions = "sinusoidal"
    first_position: Natural = 0
    """The place of a sequence's first piece in the table of sinusoids: 2 in models of fairseq."""
    activation: Activation = "relu"
    scaled_embedding: bool = True
    """Whether embeddings are multiplied by sqrt(width)."""
    logits_bias: bool = False
    source_opening: bool = True
    """Whether a source begins with a symbol, the opening one or that of its language."""

    def __post_init__(self) -> None:
        checked(Shape, vars(self))

    @property
    def head_size(self) -> int:
        return self.width // self.heads


MARIAN: dict[str, Any] = {
    "positions": "marian",
    "activation": "swish",
    "logits_bias": True,
    "source_opening": False,
}
"""What `conventions = "marian"` means, in recipes and in model folders of earlier releases."""


def read_shape(data: dict[str, Any]) -> Shape:
    """A shape as this release or an earlier one wrote it."""
    return from_dict(Shape, upgraded(data))


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """The data of a shape, with the name of a convention (earlier releases) replaced by its values."""
    values = dict(data)
    conventions = values.pop("conventions", "turia")
    if conventions not in ("turia", "marian"):
        raise ConfigError(f"shape.conventions is {conventions!r}, expected 'turia' or 'marian'")
    return values | (MARIAN if conventions == "marian" else {})


PRESETS: dict[str, tuple[int, int, int, int, int]] = {
    # width, feed forward, heads, encoder layers, decoder layers
    "tiny": (64, 128, 4, 2, 2),
    "small": (256, 1024, 4, 6, 3),
    "base": (512, 2048, 8, 6, 6),
    "big": (1024, 4096, 16, 6, 6),
}


def check_width(table: str, width: int, heads: int, positions: Positions) -> None:
    """Refuses a width that the heads cannot share. `table` is where its keys are."""
    if width % heads or width % 2 or width < 4:
        raise ConfigError(
            f"{table}.width is {width}, expected an even number of 4 or more that the {heads} heads can share"
        )
    if positions == "rotary" and (width // heads) % 2:
        raise ConfigError(
            f"{table}.positions is 'rotary', which turns halves of a head against each other, but a head has "
            f"{width // heads} dimensions ({table}.width / {table}.heads), expected an even number"
        )


def shape_of(model: ModelSettings, source_vocabulary: int, target_vocabulary: int, joint: bool) -> Shape:
    """The preset's sizes, with what the recipe sets in their place."""
    width, feed_forward, heads, encoder_layers, decoder_layers = PRESETS[model.preset]
    width, heads = model.width or width, model.heads or heads
    check_width("model", width, heads, model.positions)
    own: dict[str, Any] = {"positions": model.positions} if model.conventions == "turia" else MARIAN
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
        **own,
    )
