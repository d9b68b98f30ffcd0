"""The weights of a model folder, as a checkpoint has them: the way back from `tensors.graph_tensors`.

So training goes on from a model that was exported, whose run may be somebody else's or lost. What int8 has rounded
stays rounded: a weight is off by at most half a step of its column's scale.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from turia.export.tensors import Floats, Tensors, embeddings, weight_shapes
from turia.runtime.folder import Side, graph_file, load_folder
from turia.runtime.shape import Shape


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
    found: dict[str, Floats] = {}
    if shape.marian:
        found["logits_bias"] = tensors["logits_bias"]
    for name in embeddings(shape):
        found[f"{name}.weight"] = _unscaled(name, tensors, axis=1)
    memory = _linear("memory", tensors)
    keys_values = [np.split(part, shape.decoder_layers) for part in memory]
    for name, size in weight_shapes(shape).items():
        if name in found:
            continue
        if "norm." in name:
            found[name] = tensors[name]
            continue
        linear, kind = name.rsplit(".", 1)
        part = ("weight", "bias").index(kind)
        owner, role = linear.rsplit(".", 1)
        if owner.endswith("cross_attention") and role == "key_value":
            layer = int(owner.split(".")[1])
            found[name] = keys_values[part][layer]
        elif role in ("query", "key_value"):
            whole = _linear(owner, tensors)[part]
            found[name] = whole[: size[0]] if role == "query" else whole[-size[0] :]
        else:
            found[name] = _linear(linear, tensors)[part]
        if role == "query":
            found[name] = found[name] * np.float32((shape.width // shape.heads) ** 0.5)
    return {name: np.ascontiguousarray(found[name], dtype=np.float32) for name in weight_shapes(shape)}


def _linear(name: str, tensors: Tensors) -> tuple[Floats, Floats]:
    """A matrix [N, K] and its bias [N]."""
    return _unscaled(name, tensors, axis=0).T, tensors[f"{name}.bias"]


def _unscaled(name: str, tensors: Tensors, axis: int) -> Floats:
    matrix = tensors[f"{name}.weight"]
    if f"{name}.scale" not in tensors:
        return matrix
    values: Floats = matrix.astype(np.float32) * np.expand_dims(tensors[f"{name}.scale"], axis)
    return values
