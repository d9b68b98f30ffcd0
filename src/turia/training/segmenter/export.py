"""A trained network as ONNX graphs, one per window; what they share lies in one file beside them.

The embedding, by far the largest part, is stored as int8 with one scale per row; everything else stays
float32. ONNX orders the gates of a GRU update, reset, new, where torch has reset, update, new.

Letters: V ids, E embedding, H hidden, B streams, P past slots, L = P + 1 + w.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from turia.export.external import IR_VERSION, OPSET, write_external
from turia.segmenter.classifier import VOCABULARY_FILE, WEIGHTS_FILE, graph_file
from turia.segmenter.stream_network import quantise_rows
from turia.segmenter.window import PAST
from turia.text.vocabulary import Vocabulary
from turia.training.segmenter.network import Network

Array = npt.NDArray[Any]


def export(network: Network, vocabulary: Vocabulary, folder: Path) -> None:
    """Writes the graphs, their shared weights and the vocabulary; the settings are written once decisions are known."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary.save(folder / VOCABULARY_FILE)
    shared = list(write_external(_shared_weights(network), folder / WEIGHTS_FILE).values())
    for window in network.windows:
        graph = _graph(network, window, shared)
        onnx.save_model(graph, folder / graph_file(window))


def _shared_weights(network: Network) -> dict[str, Array]:
    table, scale = quantise_rows(_numpy(network.embedding.weight))
    gru = {name: _onnx_gates(_numpy(weight)) for name, weight in network.gru.named_parameters()}
    return {
        "embedding": table,
        "scale": scale,
        "gru_input": gru["weight_ih_l0"][None],
        "gru_state": gru["weight_hh_l0"][None],
        "gru_bias": np.concatenate((gru["bias_ih_l0"], gru["bias_hh_l0"]))[None],
    }


def _onnx_gates(weight: Array) -> Array:
    """[3H, ...] from torch's order of gates to that of ONNX."""
    reset, update, new = np.split(weight, 3)
    return np.concatenate((update, reset, new))


def _graph(network: Network, window: int, shared: list[TensorProto]) -> onnx.ModelProto:
    """ids [B, L] → probability [B] of a sentence end, for one window."""
    length, hidden = PAST + 1 + window, network.gru.hidden_size
    first = PAST + window if network.last_only else PAST
    constants = {
        "states_from": np.array([first]),
        "states_to": np.array([length]),
        "flat": np.array([0, (length - first) * hidden]),
        "directions": np.array([1]),
        "ends": np.array(1),
    }
    node = helper.make_node
    nodes = [
        node("Transpose", ["ids"], ["ids_by_time"], perm=[1, 0]),
        node("Gather", ["embedding", "ids_by_time"], ["rows"]),
        node("Cast", ["rows"], ["rows_float"], to=TensorProto.FLOAT),
        node("Gather", ["scale", "ids_by_time"], ["row_scales"]),
        node("Mul", ["rows_float", "row_scales"], ["embedded"]),
        # [L, B, E] → states [L, 1, B, H]; linear_before_reset is how torch computes its new gate.
        node(
            "GRU",
            ["embedded", "gru_input", "gru_state", "gru_bias"],
            ["states_by_time"],
            hidden_size=hidden,
            linear_before_reset=1,
        ),
        node("Squeeze", ["states_by_time", "directions"], ["states"]),
        node("Slice", ["states", "states_from", "states_to"], ["seen_by_time"]),
        node("Transpose", ["seen_by_time"], ["seen"], perm=[1, 0, 2]),
        node("Reshape", ["seen", "flat"], ["hidden0"]),
    ]
    value = "hidden0"
    for number, layer in enumerate(network.output_layers(window), start=1):
        if isinstance(layer, nn.Linear):
            constants[f"weight{number}"] = _numpy(layer.weight)
            constants[f"bias{number}"] = _numpy(layer.bias)
            inputs = [value, f"weight{number}", f"bias{number}"]
            nodes.append(node("Gemm", inputs, [f"hidden{number}"], transB=1))
        else:
            assert isinstance(layer, nn.ReLU)
            nodes.append(node("Relu", [value], [f"hidden{number}"]))
        value = f"hidden{number}"
    nodes += [
        node("Softmax", [value], ["probabilities"], axis=1),
        node("Gather", ["probabilities", "ends"], ["probability"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        f"segmenter-w{window}",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["streams", length])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["streams"])],
        [*shared, *(numpy_helper.from_array(array, name) for name, array in constants.items())],
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="turia")
    helper.set_model_props(model, {"vocabulary": str(network.embedding.num_embeddings)})
    return model


def _numpy(tensor: Tensor) -> npt.NDArray[np.float32]:
    array: npt.NDArray[np.float32] = tensor.detach().numpy()
    return array
