"""The graphs as files. That they compute what torch computes is in runtime/test_graphs.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from tests.runtime.models import Norm, tiny_shape
from turia.config import Conventions
from turia.export.graph import save_graphs
from turia.export.stored import read_tensors
from turia.export.tensors import graph_tensors, random_weights
from turia.runtime.folder import STREAMS, WEIGHTS_FILE, graph_file
from turia.runtime.shape import MARIAN, Precision


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("conventions", ["turia", "marian"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_graphs_use_every_tensor(
    norm: Norm, joint: bool, conventions: Conventions, precision: Precision, tmp_path: Path
) -> None:
    """A tensor that no graph refers to would be dead weight; one that is missing is a KeyError."""
    shape = replace(tiny_shape(norm, joint), **(MARIAN if conventions == "marian" else {}))
    tensors = graph_tensors(shape, random_weights(shape), precision)
    save_graphs(shape, tensors, precision, tmp_path)
    assert read_tensors(tmp_path).keys() == tensors.keys()


def test_all_graphs_share_one_file_of_weights(tmp_path: Path) -> None:
    shape = tiny_shape(positions="rotary")
    save_graphs(shape, graph_tensors(shape, random_weights(shape), "int8"), "int8", tmp_path)
    graphs = {graph_file(side, streams) for side in ("encoder", "decoder", "look") for streams in STREAMS}
    assert {file.name for file in tmp_path.iterdir()} == {WEIGHTS_FILE, *graphs}
    weights = (tmp_path / WEIGHTS_FILE).stat().st_size
    assert all((tmp_path / name).stat().st_size < weights for name in graphs)


def test_what_graphs_take_and_give(tmp_path: Path) -> None:
    """docs/model-folder.md says so, and other programs may rely on it."""
    shape = tiny_shape()
    save_graphs(shape, graph_tensors(shape, random_weights(shape), "float32"), "float32", tmp_path)
    kept = [f"kept.{tensor}.0" for tensor in range(4)]
    memory = [f"memory.{tensor}.0" for tensor in range(4)]
    shared = ["ids", "positions", "columns.0", "bias.0", *kept]
    expected = {
        "encoder": (shared, ["kept", "memory", "states"]),
        "decoder": ([*shared, "last", "memory_bias.0", *memory], ["kept", "logits", "states"]),
        "look": ([*shared, "memory_bias.0", *memory], ["kept", "logits", "attention.0", "states"]),
    }
    for side, (takes, gives) in expected.items():
        model = onnx.load_model(tmp_path / f"{side}.onnx", load_external_data=False)
        assert [value.name for value in model.graph.input] == takes
        assert [value.name for value in model.graph.output] == gives
