"""The weights of a model folder come back as a checkpoint has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.runtime.models import Norm, random_transformer, tiny_shape, weights_of
from turia.export.stored import checkpoint_weights, read_weights
from turia.export.tensors import graph_tensors, quantise, random_weights
from turia.runtime.folder import load_folder

SHIPPED = Path(__file__).parents[2] / "src/turia/models/de-en"


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
def test_float32_comes_back(norm: Norm, joint: bool) -> None:
    shape = tiny_shape(norm, joint)
    weights = weights_of(random_transformer(shape))
    found = checkpoint_weights(shape, graph_tensors(shape, weights, "float32"))
    assert found.keys() == weights.keys()
    for name, values in weights.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, err_msg=name)


def test_int8_comes_back_to_half_a_step() -> None:
    shape = tiny_shape()
    weights = weights_of(random_transformer(shape))
    found = checkpoint_weights(shape, graph_tensors(shape, weights, "int8"))
    for name, values in weights.items():
        if values.ndim < 2:
            np.testing.assert_allclose(found[name], values, rtol=1e-6, err_msg=name)
            continue
        _, step = quantise(values, 1)
        assert (np.abs(found[name] - values) <= 0.501 * step[:, None] + 1e-7).all(), name


def test_a_shipped_model_quantised_again_is_the_same() -> None:
    """What was rounded once is not rounded once more: who exports it again loses nothing."""
    shape = load_folder(SHIPPED).config.shape
    again = graph_tensors(shape, read_weights(SHIPPED), "int8")
    graph = onnx.load_model(SHIPPED / "decoder.onnx").graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    matrices = [name for name in again if name in stored and again[name].dtype == np.int8]
    assert len(matrices) > 15
    for name in matrices:
        np.testing.assert_array_equal(again[name], stored[name], err_msg=name)


def test_marian_s_bias_comes_back() -> None:
    shape = replace(tiny_shape(), logits_bias=True)
    weights = random_weights(shape)
    found = checkpoint_weights(shape, graph_tensors(shape, weights, "float32"))
    assert found.keys() == weights.keys()
    np.testing.assert_array_equal(found["logits_bias"], weights["logits_bias"])
