"""The table `model` of a recipe: the shape of the Transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from turia.errors import ConfigError
from turia.schema import Positive

Encoder = Literal["bidirectional", "unidirectional", "pbe"]
Anchor = Literal["window", "sentence"]
Preset = Literal["tiny", "small", "base", "big"]
Conventions = Literal["turia", "marian"]
"""Of a Transformer. `marian` (models that `turia import-marian` made, and their offspring): swish in place of ReLU,
Marian's sinusoids, a bias on the logits, and no opening symbol before the source."""
Search = Literal["turia", "generate"]
"""How a beam over a whole sentence ends: by rules of ours, or by those of `generate` in the library transformers."""
Positions = Literal["sinusoidal", "rotary"]
"""How a Transformer knows the order of pieces: sinusoids added to the embeddings, as in the paper, or queries and keys
of self-attention rotated by their position (Su et al. 2021), which shows attention distances only."""
OFFLINE_K = 1000
"""More words than any sentence has: nothing is written before the whole sentence is read."""
MOST_HYPOTHESES = 64
"""Of a beam: each keeps decoder states of its own, thousands of them would fill the memory."""


@dataclass(frozen=True)
class ModelSettings:
    """Shape of the Transformer. `preset` gives the sizes that are not set here."""

    preset: Preset = "small"
    width: Positive | None = None
    feed_forward: Positive | None = None
    heads: Positive | None = None
    encoder_layers: Positive | None = None
    decoder_layers: Positive | None = None
    encoder: Encoder = "pbe"
    anchor: Anchor = "sentence"
    norm: Literal["pre", "post"] = "pre"
    conventions: Conventions = "turia"
    positions: Positions = "sinusoidal"
    max_positions: Positive = 512

    def __post_init__(self) -> None:
        if self.positions == "rotary" and self.conventions == "marian":
            raise ConfigError("positions is 'rotary', but conventions is 'marian', whose positions are sinusoidal")
        if self.anchor == "window" and self.conventions == "marian":
            raise ConfigError(
                "anchor is 'window', which counts from a symbol that Marian's sentences do not begin with"
            )
