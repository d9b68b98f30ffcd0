"""The weights of the Transformer, written once: their names, and their sizes.

The layers in torch are made with these sizes (model/layers.py), exported weights are checked against them
(export/folder.py), graphs multiply with stacks of them (export/tensors.py), and `turia models` counts them.

The encoder and the decoder have layers, a layer has sub-layers with a norm around each, and a sub-layer has matrices.
A name says the way: `decoder_layers.2.cross_attention.key_value.weight`, `decoder_layers.2.around_attention.norm.bias`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from turia.runtime.shape import Shape


class Size(NamedTuple):
    """Of a matrix [outputs, inputs]; its bias is [outputs]."""

    outputs: int
    inputs: int


class AttentionSizes(NamedTuple):
    """The matrices of an attention."""

    query: Size
    key_value: Size
    """Keys above values."""
    output: Size


class FeedForwardSizes(NamedTuple):
    """The matrices of a feed-forward sub-layer."""

    expand: Size
    contract: Size


def attention_sizes(shape: Shape) -> AttentionSizes:
    width = shape.width
    return AttentionSizes(query=Size(width, width), key_value=Size(2 * width, width), output=Size(width, width))


def feed_forward_sizes(shape: Shape) -> FeedForwardSizes:
    width, inner = shape.width, shape.feed_forward
    return FeedForwardSizes(expand=Size(inner, width), contract=Size(width, inner))


Sizes = Callable[[Shape], AttentionSizes | FeedForwardSizes]
ENCODER_LAYER: dict[str, Sizes] = {"attention": attention_sizes, "feed_forward": feed_forward_sizes}
DECODER_LAYER: dict[str, Sizes] = {
    "attention": attention_sizes,
    "cross_attention": attention_sizes,
    "feed_forward": feed_forward_sizes,
}
"""The sub-layers of a layer in the order in which they are computed."""


def encoder_layers(shape: Shape) -> list[str]:
    """The names of the encoder's layers."""
    return [f"encoder_layers.{index}" for index in range(shape.encoder_layers)]


def decoder_layers(shape: Shape) -> list[str]:
    """The names of the decoder's layers."""
    return [f"decoder_layers.{index}" for index in range(shape.decoder_layers)]


def embeddings(shape: Shape) -> dict[str, int]:
    """The embeddings and their rows. A joint one is the target's."""
    target = {"target_embedding": shape.target_vocabulary}
    return target if shape.joint else {**target, "source_embedding": shape.source_vocabulary}


def is_norm(name: str) -> bool:
    """Whether a weight of this name is a norm's."""
    return "norm." in name


def weight_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all weights of a checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {
        f"{name}.weight": (rows, shape.width) for name, rows in embeddings(shape).items()
    }
    if shape.logits_bias:
        shapes["logits_bias"] = (shape.target_vocabulary,)
    sides = (
        ("encoder_norm", encoder_layers(shape), ENCODER_LAYER),
        ("decoder_norm", decoder_layers(shape), DECODER_LAYER),
    )
    for final_norm, layers, sub_layers in sides:
        norms = [f"{layer}.around_{sub_layer}.norm" for layer in layers for sub_layer in sub_layers]
        for norm in [*norms, final_norm] if shape.pre_norm else norms:
            shapes |= {f"{norm}.weight": (shape.width,), f"{norm}.bias": (shape.width,)}
        for layer in layers:
            for sub_layer, sizes in sub_layers.items():
                for matrix, size in sizes(shape)._asdict().items():
                    name = f"{layer}.{sub_layer}.{matrix}"
                    shapes |= {f"{name}.weight": tuple(size), f"{name}.bias": (size.outputs,)}
    return shapes
