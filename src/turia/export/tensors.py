"""What the graphs hold: a checkpoint's weights, fused, folded and quantised. numpy alone.

- Queries carry the 1 / sqrt(E) of the attention. Query, key and value of one attention are one matrix, and so are the
  keys and values that all decoder layers keep of the source.
- A matrix is stored [K, N], ready to be multiplied with rows from the left; an embedding is stored [V, D].
- int8: symmetric, one scale for each column of a matrix and each row of an embedding (which is a column of the output
  layer), 7 bits used of the 8. Biases, norms and positions stay float32.

Letters: D width, F inner width, H heads, E = D / H, V vocabulary, K inputs, N outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.runtime.positions import Floats, rotations, sinusoids
from turia.runtime.shape import Precision, Shape
from turia.runtime.weights import decoder_layers, embeddings, encoder_layers, is_norm, weight_shapes

Weights = Mapping[str, Floats]
"""By the names and in the shapes of a checkpoint: matrices [N, K]."""
Tensors = dict[str, npt.NDArray[Any]]

_ROWS = 1 << 14
LARGEST = 63
"""Weights are used from -63 to 63: CPUs without VNNI add two products of 8 bits in 16, and 2 · 255 · 63 fits."""


def graph_tensors(shape: Shape, weights: Weights, precision: Precision) -> Tensors:
    """All tensors of the graphs, by name: NAME.weight (and with int8 NAME.scale), NAME.bias; norms, positions."""
    tensors = _positions(shape)
    if shape.logits_bias:
        tensors["logits_bias"] = weights["logits_bias"]
    for name in embeddings(shape):
        tensors |= _stored(name, weights[f"{name}.weight"], 1, precision)
    for name, parts in graph_linears(shape).items():
        matrix, bias = (
            np.concatenate([weights[f"{part.linear}.{kind}"] * np.float32(part.factor) for part in parts])
            for kind in ("weight", "bias")
        )
        tensors |= _stored(name, np.ascontiguousarray(matrix.T), 0, precision)
        tensors[f"{name}.bias"] = bias
    for name in filter(is_norm, weights):
        tensors[name] = weights[name]
    return tensors


def quantise(matrix: Floats, axis: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """int8 and float32 scales with matrix ≈ int8 · scale; the largest along `axis` becomes 63."""
    scale = np.maximum(matrix.max(axis=axis), -matrix.min(axis=axis))
    scale = (np.maximum(scale, np.finfo(np.float32).tiny) / LARGEST).astype(np.float32)
    integers = np.empty(matrix.shape, dtype=np.int8)
    # In parts: an embedding of 256,000 pieces takes a gigabyte, and would be copied twice.
    for begin in range(0, len(matrix), _ROWS):
        rows = slice(begin, begin + _ROWS)
        integers[rows] = np.round(matrix[rows] / (scale[rows, None] if axis == 1 else scale))
    return integers, scale


def _positions(shape: Shape) -> Tensors:
    if shape.positions == "rotary":
        cosines, sines = rotations(shape.max_positions, shape.head_size)
        return {"rotary.cosines": cosines, "rotary.sines": sines}
    marian = shape.positions == "marian"
    return {"sinusoids": sinusoids(shape.max_positions, shape.width, marian, shape.first_position)}


def random_weights(shape: Shape, seed: int = 1) -> dict[str, Floats]:
    """Weights of the right shapes that mean nothing: to measure the speed of a size that nobody has trained."""
    random = np.random.default_rng(seed)

    def weight(name: str, size: tuple[int, ...]) -> Floats:
        if is_norm(name):
            return np.full(size, float(name.endswith("weight")), dtype=np.float32)
        return random.standard_normal(size, dtype=np.float32) * np.float32(size[-1] ** -0.5)

    return {name: weight(name, size) for name, size in weight_shapes(shape).items()}


class MatrixPart(NamedTuple):
    """A matrix of a checkpoint within a matrix of the graphs."""

    linear: str
    factor: float = 1.0
    """What its matrix and its bias are multiplied by."""


def graph_linears(shape: Shape) -> dict[str, list[MatrixPart]]:
    """The matrices that graphs multiply with: each a stack of a checkpoint's, one above the other."""
    temper = shape.head_size**-0.5
    decoder = decoder_layers(shape)
    found = {"memory": [MatrixPart(f"{layer}.cross_attention.key_value") for layer in decoder]}
    for layer in [*encoder_layers(shape), *decoder]:
        attention = f"{layer}.attention"
        found[attention] = [MatrixPart(f"{attention}.query", temper), MatrixPart(f"{attention}.key_value")]
        for name in (f"{attention}.output", f"{layer}.feed_forward.expand", f"{layer}.feed_forward.contract"):
            found[name] = [MatrixPart(name)]
    for layer in decoder:
        found[f"{layer}.cross_attention"] = [MatrixPart(f"{layer}.cross_attention.query", temper)]
        found[f"{layer}.cross_attention.output"] = [MatrixPart(f"{layer}.cross_attention.output")]
    return found


def _stored(name: str, matrix: Floats, axis: int, precision: Precision) -> Tensors:
    if precision == "float32":
        return {f"{name}.weight": matrix}
    integers, scale = quantise(matrix, axis)
    return {f"{name}.weight": integers, f"{name}.scale": scale}
