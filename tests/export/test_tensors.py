"""What the graphs hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tests.runtime.models import Norm, random_transformer, tiny_shape, weights_of
from turia.export.tensors import (
    LARGEST,
    Floats,
    graph_tensors,
    quantise,
    random_weights,
    rotations,
    sinusoids,
    weight_shapes,
)
from turia.model.layers import rotations as torch_rotations
from turia.model.layers import sinusoids as torch_sinusoids
from turia.runtime.shape import Precision

matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-1e3, 1e3, width=32))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
def test_names_and_shapes_are_those_of_a_checkpoint(norm: Norm, joint: bool) -> None:
    shape = tiny_shape(norm, joint)
    trained = {name: values.shape for name, values in weights_of(random_transformer(shape)).items()}
    assert weight_shapes(shape) == trained
    assert {name: values.shape for name, values in random_weights(shape).items()} == trained


def test_positions_are_those_of_training() -> None:
    np.testing.assert_allclose(sinusoids(512, 64), torch_sinusoids(512, 64).numpy(), atol=1e-6)
    for half, whole in zip(rotations(512, 64), torch_rotations(512, 64), strict=True):
        np.testing.assert_allclose(np.concatenate([half, half], axis=1), whole.numpy(), atol=1e-6)


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
