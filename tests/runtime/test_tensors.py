"""Weights are found without the package onnx, as that package finds them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from turia.errors import ModelError
from turia.export.stored import read_tensors
from turia.runtime.folder import graph_file
from turia.runtime.tensors import check_numbers, let_go, map_weights, read_stored
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


def test_an_empty_file_of_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").touch()
    with pytest.raises(ModelError, match=r"weights.bin: cannot be mapped into memory"):
        read_stored(tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value: float, tmp_path: Path) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensors = {"a.weight": np.zeros(3, dtype=np.int8), "a.scale": numbers, "logits_bias": numbers[0]}
    check_numbers(tmp_path, tensors)
    numbers[1, 2] = value
    with pytest.raises(ModelError) as caught:
        check_numbers(tmp_path, tensors)
    assert str(caught.value) == (
        f"{tmp_path / 'weights.bin'}: a.scale has values that are no numbers: the weights are damaged"
    )


def test_a_bias_may_forbid_a_piece(tmp_path: Path) -> None:
    bias = np.array([0.5, -np.inf], dtype=np.float32)
    check_numbers(tmp_path, {"logits_bias": bias})
    for value in (np.nan, np.inf):
        bias[1] = value
        with pytest.raises(ModelError, match=r"weights.bin: logits_bias has values that are no numbers"):
            check_numbers(tmp_path, {"logits_bias": bias})


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Of protocol buffers; all of it is short."""
    parts = []
    for field, value in fields:
        if isinstance(value, int):
            parts.append(bytes([field << 3, value]))
        else:
            parts.append(bytes([field << 3 | 2, len(value)]) + value)
    return b"".join(parts)


def entry(key: bytes, value: bytes) -> tuple[int, bytes]:
    return 13, message((1, key), (2, value))


WHERE = (entry(b"offset", b"0"), entry(b"length", b"8"))
NAMED = (8, b"a")


@pytest.mark.parametrize(
    "tensor",
    [
        message((1, 2), (2, 1), *WHERE),  # no name
        message((1, 2), (2, 1), NAMED, (13, 7)),  # an entry that is a number
        message((1, 2), (2, 9), NAMED, *WHERE),  # numbers of a kind that we do not have
        message((1, 3), (2, 1), NAMED, *WHERE),  # other sizes
        message((1, 2), (2, 1), NAMED, WHERE[0]),  # no length
        message((1, 24), (2, 1), NAMED, WHERE[0], entry(b"length", b"96")),  # behind the end
        message((1, 2), (2, 1), (8, b"\xff"), *WHERE),
        b"\x08" + b"\xff" * 100 + b"\x01",  # a number without end
    ],
)
def test_a_graph_that_nobody_has_exported_is_refused(tensor: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(8))
    (tmp_path / "decoder.onnx").write_bytes(b"")
    (tmp_path / "encoder.onnx").write_bytes(message((7, message((5, message((1, 2), (2, 1), NAMED, *WHERE))))))
    assert read_stored(tmp_path)["a"].tolist() == [0.0, 0.0]
    (tmp_path / "encoder.onnx").write_bytes(message((7, message((5, tensor)))))
    with pytest.raises(ModelError, match=r"encoder.onnx: its tensors cannot be read"):
        read_stored(tmp_path)
