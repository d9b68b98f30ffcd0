"""What the graphs hold: a checkpoint's weights, fused, folded and quantised. numpy alone.

- Queries carry the 1 / sqrt(E) of the attention. Query, key and value of one attention are one matrix, and so are the
  keys and values that all decoder layers keep of the source.
- A matrix is stored [K, N], ready to be multiplied with rows from the left; an embedding is stored [V, D].
- int8: symmetric, one scale for each column of a matrix and each row of an embedding (which is a column of the output
  layer), 7 bits used of the 8. Biases, norms and positions stay float32.

Letters: D width, F inner width, H heads, E = D / H, V vocabulary, K inputs, N outputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.runtime.shape import ROTARY_BASE, Precision, Shape

Floats = npt.NDArray[np.float32]
Weights = Mapping[str, Floats]
"""By the names and in the shapes of a checkpoint: matrices [N, K]."""
Tensors = dict[str, npt.NDArray[Any]]

LARGEST = 63
"""Weights are used from -63 to 63: CPUs without VNNI add two products of 8 bits in 16, and 2 · 255 · 63 fits."""


def graph_tensors(shape: Shape, weights: Weights, precision: Precision) -> Tensors:
    """All tensors of the graphs, by name: NAME.weight (and with int8 NAME.scale), NAME.bias; norms, positions."""
    tensors = _positions(shape)
    if shape.marian:
        tensors["logits_bias"] = weights["logits_bias"]
    for name in embeddings(shape):
        tensors |= _stored(name, weights[f"{name}.weight"], 1, precision)
    for name, (matrix, bias) in _linears(shape, weights).items():
        tensors |= _stored(name, np.ascontiguousarray(matrix.T), 0, precision)
        tensors[f"{name}.bias"] = bias
    for name, values in weights.items():
        if "norm." in name:
            tensors[name] = values
    return tensors


def embeddings(shape: Shape) -> tuple[str, ...]:
    """The embeddings of a model; a joint one is the target's."""
    return ("target_embedding",) if shape.joint else ("target_embedding", "source_embedding")


def quantise(matrix: Floats, axis: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """int8 and float32 scales with matrix ≈ int8 · scale; the largest along `axis` becomes 63."""
    scale = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True), np.finfo(np.float32).tiny) / LARGEST
    return np.round(matrix / scale).astype(np.int8), scale.astype(np.float32).squeeze(axis)


def sinusoids(positions: int, width: int, marian: bool = False) -> Floats:
    """[positions, D] sinusoidal position embeddings, as in model/layers.py."""
    half = width // 2
    rates = np.exp(np.arange(half) * (-math.log(10_000) / (half if marian else half - 1)))
    angles = np.arange(positions)[:, None] * rates[None]
    table: Floats = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return table


def rotations(positions: int, size: int) -> tuple[Floats, Floats]:
    """Cosines and sines of rotary positions, each [positions, E / 2], as in model/layers.py: the other half of E is the
    same."""
    rates = ROTARY_BASE ** (-np.arange(0, size, 2) / size)
    angles = np.arange(positions)[:, None] * rates[None]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _positions(shape: Shape) -> Tensors:
    if shape.positions == "rotary":
        cosines, sines = rotations(shape.max_positions, shape.width // shape.heads)
        return {"rotary.cosines": cosines, "rotary.sines": sines}
    return {"sinusoids": sinusoids(shape.max_positions, shape.width, shape.marian)}


def random_weights(shape: Shape, seed: int = 1) -> dict[str, Floats]:
    """Weights of the right shapes that mean nothing: to measure the speed of a size that nobody has trained."""
    random = np.random.default_rng(seed)

    def weight(name: str, size: tuple[int, ...]) -> Floats:
        if "norm." in name:
            return np.full(size, float(name.endswith("weight")), dtype=np.float32)
        return random.standard_normal(size, dtype=np.float32) * np.float32(size[-1] ** -0.5)

    return {name: weight(name, size) for name, size in weight_shapes(shape).items()}


def weight_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a checkpoint's weights."""
    width, inner = shape.width, shape.feed_forward
    shapes: dict[str, tuple[int, ...]] = {"target_embedding.weight": (shape.target_vocabulary, width)}
    if not shape.joint:
        shapes["source_embedding.weight"] = (shape.source_vocabulary, width)
    if shape.marian:
        shapes["logits_bias"] = (shape.target_vocabulary,)
    linears = {
        "query": (width, width),
        "key_value": (2 * width, width),
        "output": (width, width),
        "expand": (inner, width),
        "contract": (width, inner),
    }
    attention = ("query", "key_value", "output")
    parts = {
        "encoder": {"attention": attention, "feed_forward": ("expand", "contract")},
        "decoder": {"attention": attention, "cross_attention": attention, "feed_forward": ("expand", "contract")},
    }
    for side, layers in (("encoder", shape.encoder_layers), ("decoder", shape.decoder_layers)):
        norms = [f"{side}_layers.{layer}.around_{part}.norm" for layer in range(layers) for part in parts[side]]
        for name in [*norms, f"{side}_norm"] if shape.pre_norm else norms:
            shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
        for layer in range(layers):
            for part, names in parts[side].items():
                for linear in names:
                    name = f"{side}_layers.{layer}.{part}.{linear}"
                    shapes |= {f"{name}.weight": linears[linear], f"{name}.bias": linears[linear][:1]}
    return shapes


def _linears(shape: Shape, weights: Weights) -> dict[str, tuple[Floats, Floats]]:
    """The matrices [N, K] and biases [N] that a graph multiplies with, fused and folded."""

    def linear(name: str, factor: float = 1.0) -> tuple[Floats, Floats]:
        return weights[f"{name}.weight"] * np.float32(factor), weights[f"{name}.bias"] * np.float32(factor)

    def stacked(*parts: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        return np.concatenate([matrix for matrix, _ in parts]), np.concatenate([bias for _, bias in parts])

    temper = (shape.width // shape.heads) ** -0.5
    decoder = [f"decoder_layers.{layer}" for layer in range(shape.decoder_layers)]
    found = {"memory": stacked(*(linear(f"{layer}.cross_attention.key_value") for layer in decoder))}
    for layer in [*(f"encoder_layers.{layer}" for layer in range(shape.encoder_layers)), *decoder]:
        attention = f"{layer}.attention"
        found[attention] = stacked(linear(f"{attention}.query", temper), linear(f"{attention}.key_value"))
        for name in (f"{attention}.output", f"{layer}.feed_forward.expand", f"{layer}.feed_forward.contract"):
            found[name] = linear(name)
    for layer in decoder:
        found[f"{layer}.cross_attention"] = linear(f"{layer}.cross_attention.query", temper)
        found[f"{layer}.cross_attention.output"] = linear(f"{layer}.cross_attention.output")
    return found


def _stored(name: str, matrix: Floats, axis: int, precision: Precision) -> Tensors:
    if precision == "float32":
        return {f"{name}.weight": matrix}
    integers, scale = quantise(matrix, axis)
    return {f"{name}.weight": integers, f"{name}.scale": scale}
