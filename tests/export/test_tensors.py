"""What the graphs hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.runtime.models import tiny_shape
from turia.export.tensors import (
    LARGEST,
    graph_tensors,
    quantise,
    random_weights,
)
from turia.runtime.positions import Floats
from turia.runtime.shape import Precision
from turia.runtime.weights import weight_shapes

matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-1e3, 1e3, width=32))


def test_random_weights_are_those_of_a_checkpoint() -> None:
    shape = tiny_shape()
    assert {name: values.shape for name, values in random_weights(shape).items()} == weight_shapes(shape)


def test_a_graph_has_the_positions_of_its_model_alone() -> None:
    for positions, expected in (("sinusoidal", {"sinusoids"}), ("rotary", {"rotary.cosines", "rotary.sines"})):
        shape = tiny_shape(positions=positions)  # type: ignore[arg-type]
        tensors = graph_tensors(shape, random_weights(shape), "int8")
        assert {name for name in tensors if name.startswith(("sinusoids", "rotary"))} == expected


@given(matrix=matrices, axis=st.integers(0, 1))
def test_quantised_numbers_are_half_a_step_away_at_most(matrix: Floats, axis: int) -> None:
    integers, scale = quantise(matrix, axis)
    scale = np.expand_dims(scale, axis)
    error = np.abs(integers * scale.astype(np.float64) - matrix)
    assert (error <= 0.501 * scale + 1e-30).all()
    # The largest of each line is met, and two products with 8-bit numbers fit into 16 bits.
    assert 2 * 255 * np.abs(integers.astype(int)).max() < 2**15
    assert ((np.abs(integers).max(axis=axis) == LARGEST) | (np.abs(matrix).max(axis=axis) < 1e-30)).all()


def test_int8_is_a_quarter_of_float32() -> None:
    shape = tiny_shape()

    def matrix_bytes(precision: Precision) -> int:
        tensors = graph_tensors(shape, random_weights(shape), precision)
        return sum(tensor.nbytes for name, tensor in tensors.items() if name.endswith(".weight") and tensor.ndim == 2)

    assert matrix_bytes("float32") == 4 * matrix_bytes("int8") > 0


def test_a_joint_embedding_is_stored_once() -> None:
    stored = [name for name in graph_tensors(tiny_shape(), random_weights(tiny_shape()), "int8") if "embedding" in name]
    assert stored == ["target_embedding.weight", "target_embedding.scale"]
