"""The Transformer as ONNX graphs, built node by node: nothing is traced, so what stands here is what runs.

One graph serves a window, a step and everything between: R new rows after any number of kept ones. Keys and values are
kept in buffers that the caller owns, with room for C columns; a graph reads a buffer where it lies and gives back the
new columns alone. So nothing that was kept is ever copied, which is most of what an attention operator with a `past`
does in a step. What a row may see, the caller says by a bias: 0 or -inf.

A graph is made for a number of streams. Its matrices are multiplied with the rows of all streams at once; attention
goes stream by stream, each with its own buffers, so that a stream's numbers cannot depend on its neighbours.

int8: a row is divided by its largest magnitude and rounded to 8 bits, multiplied in integers, and scaled back. Each row
has its own scale, so that no other row of a batch or of a call costs it precision. (ONNX Runtime's own dynamic
quantisation has one scale for all rows of a call.) docs/decisions/015 has what was measured.

Letters: N rows of all streams, R rows of one, C columns of a buffer, M columns of a memory buffer, D width, H heads,
E = D / H, V vocabulary, L layers (of the encoder or of the decoder). Tensors 2i and 2i + 1 of a buffer are the keys and
values of layer i. Rows are [1, N, D]; columns are [1, H, N, E].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from turia.export.external import IR_VERSION, OPSET, write_external
from turia.export.tensors import Tensors
from turia.runtime.folder import STREAMS, WEIGHTS_FILE, graph_file
from turia.runtime.shape import Precision, Shape
from turia.runtime.weights import decoder_layers, encoder_layers

_MICROSOFT = ("FusedMatMul", "Gelu", "MatMulIntegerToFloat", "RotaryEmbedding")
"""Operators that only ONNX Runtime has in this operator set: a product with its second factor transposed, an
activation, a product of integers, and the rotation of rows by their positions."""
_EPSILON = 1e-5
_ALIGNMENT = 64


def save_graphs(shape: Shape, tensors: Tensors, precision: Precision, folder: Path) -> None:
    """Writes the weights once, and the graphs of both sides and all numbers of streams, which refer to them."""
    # In the order of their names: a model that is exported again has the same file, by whose sum heads know it.
    stored = write_external(dict(sorted(tensors.items())), folder / WEIGHTS_FILE, _ALIGNMENT)
    for streams in STREAMS:
        onnx.save_model(encoder_graph(shape, stored, precision, streams), folder / graph_file("encoder", streams))
        onnx.save_model(decoder_graph(shape, stored, precision, streams), folder / graph_file("decoder", streams))
        onnx.save_model(decoder_graph(shape, stored, precision, streams, True), folder / graph_file("look", streams))


def encoder_graph(
    shape: Shape, stored: Mapping[str, TensorProto], precision: Precision, streams: int
) -> onnx.ModelProto:
    """ids, positions [1, N] -> kept [2L, H, N, E], memory [2 · decoder layers, H, N, E] and states [N, D] of the new
    positions."""
    graph = _Graph(shape, stored, precision, streams, shape.encoder_layers)
    x = graph.embed("target_embedding" if shape.joint else "source_embedding")
    for index, layer in enumerate(encoder_layers(shape)):
        y = graph.before(x, f"{layer}.around_attention")
        x = graph.after(x, graph.self_attention(y, layer, index), f"{layer}.around_attention")
        x = graph.feed_forward(x, layer)
    states = graph.norm(x, "encoder_norm") if shape.pre_norm else x
    graph.give_kept()
    tensors = 2 * shape.decoder_layers
    memory = graph.add("Reshape", graph.linear(states, "memory"), graph.sizes(-1, tensors, *graph.heads))
    graph.give("memory", [tensors, graph.heads[0], "rows", graph.heads[1]], "Transpose", memory, perm=[1, 2, 0, 3])
    graph.give_states(states)
    return graph.model("encoder")


def decoder_graph(
    shape: Shape, stored: Mapping[str, TensorProto], precision: Precision, streams: int, looks: bool = False
) -> onnx.ModelProto:
    """ids, positions [1, N], last [streams] -> kept [2L, H, N, E] of the new rows, logits [streams, V] of the last.

    A graph that `looks` gives the logits [N, V] of all rows, and the cross-attention [L, H, R, M] of each stream's.
    Last come the states [·, D] of the rows that have logits.
    """
    graph = _Graph(shape, stored, precision, streams, shape.decoder_layers)
    if not looks:
        graph.take("last", TensorProto.INT64, [streams])
    for stream in range(streams):
        graph.take(f"memory_bias.{stream}", TensorProto.FLOAT, [1, 1, f"rows.{stream}", f"memory.{stream}"])
        graph.take_buffers("memory", 2 * shape.decoder_layers, stream)
    x = graph.embed("target_embedding")
    for index, layer in enumerate(decoder_layers(shape)):
        y = graph.before(x, f"{layer}.around_attention")
        x = graph.after(x, graph.self_attention(y, layer, index), f"{layer}.around_attention")
        if index == shape.decoder_layers - 1 and not looks:
            x = graph.keep_last_rows(x)
        y = graph.before(x, f"{layer}.around_cross_attention")
        x = graph.after(x, graph.cross_attention(y, layer, index), f"{layer}.around_cross_attention")
        x = graph.feed_forward(x, layer)
    states = graph.norm(x, "decoder_norm") if shape.pre_norm else x
    graph.give_kept()
    scores = graph.scores(states)
    if shape.logits_bias:
        scores = graph.add("Add", scores, graph.tensor("logits_bias"))
    rows, vocabulary = -1 if looks else streams, shape.target_vocabulary
    sizes = ("rows" if looks else streams, vocabulary)
    graph.give("logits", sizes, "Reshape", scores, graph.sizes(rows, vocabulary))
    if looks:
        graph.give_attention()
    graph.give_states(states)
    return graph.model("look" if looks else "decoder")


class _Factor(NamedTuple):
    """Rows that are ready to be multiplied with a matrix."""

    value: str
    """float32, or uint8 with zero at `zero`."""
    peak: str = ""
    """[1, N, 1] what the rows were divided by; nothing for float32."""
    unit: str = ""
    zero: str = ""


class _Graph:
    """A graph in the making. Methods add nodes and give the name of their result."""

    def __init__(
        self, shape: Shape, stored: Mapping[str, TensorProto], precision: Precision, streams: int, layers: int
    ) -> None:
        self.shape, self.stored, self.precision, self.streams, self.layers = shape, stored, precision, streams, layers
        self.heads = (shape.heads, shape.head_size)
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: dict[str, TensorProto] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.kept: list[str] = []
        self.attention: list[list[str]] = [[] for _ in range(streams)]
        """Cross-attention of each stream, [1, H, R, M] a layer."""
        self.only_last_rows = False
        self.take("ids", TensorProto.INT64, [1, "rows"])
        self.take("positions", TensorProto.INT64, [1, "rows"])
        if streams > 1:
            self.take("rows", TensorProto.INT64, [streams])
        for stream in range(streams):
            # C and R, for the split of the attention weights into those of kept and those of new columns.
            self.take(f"columns.{stream}", TensorProto.INT64, [2])
            self.take(f"bias.{stream}", TensorProto.FLOAT, [1, 1, f"rows.{stream}", f"kept and new.{stream}"])
            self.take_buffers("kept", 2 * layers, stream)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one result."""
        return self.add_split(operator, *inputs, outputs=1, **attributes)[0]

    def add_split(self, operator: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """A node with several results."""
        names = [f"{operator}.{len(self.nodes)}.{number}" for number in range(outputs)]
        domain = "com.microsoft" if operator in _MICROSOFT else ""
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def tensor(self, name: str) -> str:
        """A stored tensor."""
        self.initialisers[name] = self.stored[name]
        return name

    def constant(self, name: str, value: npt.NDArray[Any] | np.generic) -> str:
        self.initialisers[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def sizes(self, *sizes: int) -> str:
        """A shape to reshape to; 0 keeps what is there."""
        return self.constant(f"sizes {sizes}", np.array(sizes, dtype=np.int64))

    def take(self, name: str, kind: int, sizes: Sequence[int | str]) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, kind, sizes))

    def take_buffers(self, name: str, count: int, stream: int) -> None:
        """NAME.tensor.stream, each [1, H, columns, E]."""
        heads, size = self.heads
        for number in range(count):
            self.take(f"{name}.{number}.{stream}", TensorProto.FLOAT, [1, heads, f"{name}.{stream}", size])

    def give(self, name: str, sizes: Sequence[int | str], operator: str, *inputs: str, **attributes: Any) -> None:
        """A node whose result leaves the graph."""
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes))

    def give_kept(self) -> None:
        """The new keys and values of all layers."""
        heads, size = self.heads
        self.give("kept", [2 * self.layers, heads, "rows", size], "Concat", *self.kept, axis=0)

    def give_states(self, states: str) -> None:
        """What the last layer makes of the rows, for heads that policies look through."""
        self.give("states", ["rows" if not self.only_last_rows else self.streams, self.shape.width], "Reshape", states,
                  self.sizes(-1, self.shape.width))  # fmt: skip

    def give_attention(self) -> None:
        """The cross-attention of all layers, stream by stream."""
        for stream, layers in enumerate(self.attention):
            sizes: list[int | str] = [len(layers), self.heads[0], f"rows.{stream}", f"memory.{stream}"]
            self.give(f"attention.{stream}", sizes, "Concat", *layers, axis=0)

    def model(self, name: str) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, list(self.initialisers.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="turia")

    # Parts of the Transformer, in the order of model/layers.py.

    def embed(self, embedding: str) -> str:
        """[1, N, D]: embedding, times sqrt(D) if it is scaled, and + position unless positions are rotary."""
        rows = self.add("Gather", self.tensor(f"{embedding}.weight"), "ids")
        if self.precision == "int8":
            scales = self.add("Gather", self.tensor(f"{embedding}.scale"), "ids")
            scales = self.add("Unsqueeze", scales, self.constant("last axis", np.array([-1])))
            rows = self.add("Mul", self.add("Cast", rows, to=TensorProto.FLOAT), scales)
        if self.shape.scaled_embedding:
            rows = self.add("Mul", rows, self.constant("sqrt(D)", np.float32(self.shape.width**0.5)))
        if self.shape.positions == "rotary":
            return rows
        return self.add("Add", rows, self.add("Gather", self.tensor("sinusoids"), "positions"))

    def norm(self, x: str, name: str) -> str:
        scale, shift = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        return self.add("LayerNormalization", x, scale, shift, epsilon=_EPSILON)

    def before(self, x: str, residual: str) -> str:
        return self.norm(x, f"{residual}.norm") if self.shape.pre_norm else x

    def after(self, x: str, part: str, residual: str) -> str:
        total = self.add("Add", x, part)
        return total if self.shape.pre_norm else self.norm(total, f"{residual}.norm")

    def feed_forward(self, x: str, layer: str) -> str:
        y = self.before(x, f"{layer}.around_feed_forward")
        inner = self.linear(y, f"{layer}.feed_forward.expand")
        inner = self.activate(inner)
        part = self.linear(inner, f"{layer}.feed_forward.contract", positive=self.shape.activation == "relu")
        return self.after(x, part, f"{layer}.around_feed_forward")

    def activate(self, x: str) -> str:
        if self.shape.activation == "swish":
            return self.add("Mul", x, self.add("Sigmoid", x))
        return self.add({"relu": "Relu", "gelu": "Gelu"}[self.shape.activation], x)

    def self_attention(self, y: str, layer: str, index: int) -> str:
        """Rows over the columns that their stream has kept, and over its new ones."""
        heads, size = self.heads
        fused = self.add("Reshape", self.linear(y, f"{layer}.attention"), self.sizes(0, 0, 3 * heads, size))
        fused = self.add("Transpose", fused, perm=[0, 2, 1, 3])
        if self.shape.positions == "rotary":
            sizes = self.constant("queries and keys, values", np.array([2 * heads, heads]))
            turned, values = self.add_split("Split", fused, sizes, outputs=2, axis=1)
            turned = self.add(
                "RotaryEmbedding", turned, "positions", self.tensor("rotary.cosines"), self.tensor("rotary.sines")
            )
            query, keys = self.add_split("Split", turned, outputs=2, axis=1)
        else:
            query, keys, values = self.add_split("Split", fused, outputs=3, axis=1)
        self.kept += [keys, values]
        parts = zip(self.by_stream(query), self.by_stream(keys), self.by_stream(values), strict=True)
        attended = []
        for stream, (rows, new_keys, new_values) in enumerate(parts):
            kept_keys, kept_values = f"kept.{2 * index}.{stream}", f"kept.{2 * index + 1}.{stream}"
            scores = [self.add("FusedMatMul", rows, columns, transB=1) for columns in (kept_keys, new_keys)]
            weights = self.softmax(self.add("Concat", *scores, axis=-1), f"bias.{stream}")
            old, new = self.add_split("Split", weights, f"columns.{stream}", outputs=2, axis=-1)
            attended.append(self.add("Add", self.add("MatMul", old, kept_values), self.add("MatMul", new, new_values)))
        return self.join(attended, f"{layer}.attention.output")

    def cross_attention(self, y: str, layer: str, index: int) -> str:
        """Rows over their stream's memory."""
        query = self.add("Reshape", self.linear(y, f"{layer}.cross_attention"), self.sizes(0, 0, *self.heads))
        query = self.add("Transpose", query, perm=[0, 2, 1, 3])
        attended = []
        for stream, rows in enumerate(self.by_stream(query)):
            keys, values = f"memory.{2 * index}.{stream}", f"memory.{2 * index + 1}.{stream}"
            bias = f"memory_bias.{stream}"
            if self.only_last_rows:
                bias = self.add("Gather", bias, self.constant("last row", np.array([-1])), axis=2)
            weights = self.softmax(self.add("FusedMatMul", rows, keys, transB=1), bias)
            self.attention[stream].append(weights)
            attended.append(self.add("MatMul", weights, values))
        return self.join(attended, f"{layer}.cross_attention.output")

    def softmax(self, scores: str, bias: str) -> str:
        return self.add("Softmax", self.add("Add", scores, bias), axis=-1)

    def by_stream(self, columns: str) -> list[str]:
        """[1, H, N, E] -> [1, H, R, E] of each stream."""
        if self.streams == 1:
            return [columns]
        sizes = [] if self.only_last_rows else ["rows"]
        return self.add_split("Split", columns, *sizes, outputs=self.streams, axis=2)

    def join(self, attended: Sequence[str], output: str) -> str:
        """[1, H, R, E] of each stream -> the attention's result [1, N, D]."""
        columns = attended[0] if self.streams == 1 else self.add("Concat", *attended, axis=2)
        rows = self.add(
            "Reshape", self.add("Transpose", columns, perm=[0, 2, 1, 3]), self.sizes(0, 0, self.shape.width)
        )
        return self.linear(rows, output)

    def keep_last_rows(self, x: str) -> str:
        """[1, N, D] -> [1, streams, D]. Once the last layer has its keys and values, other rows are of no use."""
        self.only_last_rows = True
        return self.add("Gather", x, "last", axis=1)

    # Products.

    def linear(self, x: str, name: str, positive: bool = False) -> str:
        """x · NAME.weight + NAME.bias; `positive` if x has no negative numbers."""
        product = self.product(self.factor(x, positive), name, self.tensor(f"{name}.weight"))
        return self.add("Add", product, self.tensor(f"{name}.bias"))

    def scores(self, x: str) -> str:
        """Logits: by the embedding that the decoder reads with."""
        embedding = self.tensor("target_embedding.weight")
        if self.precision == "float32":
            return self.add("FusedMatMul", x, embedding, transB=1)
        # Done once, when the graph is loaded.
        return self.product(self.factor(x), "target_embedding", self.add("Transpose", embedding, perm=[1, 0]))

    def factor(self, x: str, positive: bool = False) -> _Factor:
        """int8: round(x / peak · 127) with zero at 128; without negative numbers, round(x / peak · 255) from zero."""
        if self.precision == "float32":
            return _Factor(x)
        size = x if positive else self.add("Abs", x)
        peak = self.add("ReduceMax", size, axes=[-1], keepdims=1)
        # A row of zeros must not be divided by zero.
        peak = self.add("Max", peak, self.constant("tiny", np.float32(np.finfo(np.float32).tiny)))
        steps, offset = (255, 0) if positive else (127, 128)
        unit = self.constant(f"1/{steps}", np.float32(1 / steps))
        zero = self.constant(f"zero at {offset}", np.uint8(offset))
        return _Factor(self.add("QuantizeLinear", self.add("Div", x, peak), unit, zero), peak, unit, zero)

    def product(self, factor: _Factor, name: str, matrix: str) -> str:
        if self.precision == "float32":
            return self.add("MatMul", factor.value, matrix)
        # ONNX Runtime may turn the matrix into another type, and its zero with it: each matrix needs its own.
        scale, zero = self.tensor(f"{name}.scale"), self.constant(f"{name}.zero", np.int8(0))
        product = self.add("MatMulIntegerToFloat", factor.value, matrix, factor.unit, scale, factor.zero, zero)
        return self.add("Mul", product, factor.peak)
