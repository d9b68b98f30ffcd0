"""The weights of a model folder, as a checkpoint has them: the way back from `tensors.graph_tensors`.

So training goes on from a model that was exported, whose run may be somebody else's or lost. What int8 has rounded
stays rounded: a weight is off by at most half a step of its column's scale.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from turia.export.tensors import Tensors, graph_linears
from turia.runtime.folder import Side, graph_file, load_folder
from turia.runtime.positions import Floats
from turia.runtime.shape import Shape
from turia.runtime.weights import embeddings, is_norm, weight_shapes


def read_weights(path: Path) -> dict[str, Floats]:
    """The weights of the model folder `path`, by the names and in the shapes of a checkpoint."""
    return checkpoint_weights(load_folder(path).config.shape, read_tensors(path))


def read_tensors(path: Path) -> Tensors:
    """The tensors of the model folder `path` as its graphs hold them: fused, folded and quantised."""
    tensors: Tensors = {}
    sides: tuple[Side, Side] = ("encoder", "decoder")
    for side in sides:
        graph = onnx.load_model(path / graph_file(side, 1), load_external_data=False).graph
        # What lies in the graph itself is a constant of its nodes.
        stored = [tensor for tensor in graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL]
        tensors |= {tensor.name: numpy_helper.to_array(tensor, str(path)) for tensor in stored}
    return tensors


def checkpoint_weights(shape: Shape, tensors: Tensors) -> dict[str, Floats]:
    """`tensors` of a model's graphs, unscaled, unfolded and parted."""
    shapes = weight_shapes(shape)
    found = {name: tensors[name] for name in shapes if is_norm(name) or name == "logits_bias"}
    for name in embeddings(shape):
        found[f"{name}.weight"] = _unscaled(name, tensors, axis=1)
    for name, parts in graph_linears(shape).items():
        matrix, bias = _unscaled(name, tensors, axis=0).T, tensors[f"{name}.bias"]
        ends = np.cumsum([shapes[f"{part.linear}.bias"][0] for part in parts])[:-1]
        for part, rows, values in zip(parts, np.split(matrix, ends), np.split(bias, ends), strict=True):
            found[f"{part.linear}.weight"] = rows * np.float32(1 / part.factor)
            found[f"{part.linear}.bias"] = values * np.float32(1 / part.factor)
    return {name: np.ascontiguousarray(found[name], dtype=np.float32) for name in shapes}


def _unscaled(name: str, tensors: Tensors, axis: int) -> Floats:
    matrix = tensors[f"{name}.weight"]
    if f"{name}.scale" not in tensors:
        return matrix
    values: Floats = matrix.astype(np.float32) * np.expand_dims(tensors[f"{name}.scale"], axis)
    return values
