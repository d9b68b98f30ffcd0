"""Weights are found without the package onnx, as that package finds them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from turia.errors import ModelError
from turia.export.stored import read_tensors
from turia.runtime.folder import graph_file
from turia.runtime.tensors import let_go, map_weights, read_stored
from turia.runtime.translator import find_model


def test_the_tensors_are_those_that_onnx_reads(tmp_path: Path) -> None:
    # A copy, because onnx refuses a file that has a second name, as files of an installation may have.
    folder = shutil.copytree(find_model("de-en"), tmp_path / "model")
    expected, found = read_tensors(folder), read_stored(folder)
    assert found.keys() == expected.keys()
    assert found["memory.weight"].dtype == np.int8
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        np.testing.assert_array_equal(found[name], tensor)


def test_pages_that_were_let_go_come_again() -> None:
    folder = find_model("de-en")
    mapped = map_weights(folder)
    weight = read_stored(folder, mapped)["memory.weight"]
    before = weight.copy()
    let_go(mapped)
    np.testing.assert_array_equal(weight, before)
    assert not weight.flags.writeable


@pytest.mark.parametrize("size", [1, 700, 4000])
def test_a_graph_that_is_cut_off_is_refused(size: int, tmp_path: Path) -> None:
    shutil.copytree(find_model("de-en"), tmp_path / "model")
    graph = tmp_path / "model" / graph_file("decoder", 1)
    graph.write_bytes(graph.read_bytes()[:size])
    with pytest.raises(ModelError, match=r"decoder.onnx: its tensors cannot be read"):
        read_stored(tmp_path / "model")
