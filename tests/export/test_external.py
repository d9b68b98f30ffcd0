"""Weights in one file, and the tensors of graphs that refer to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, numpy_helper

from turia.export.external import write_external

TENSORS: dict[str, npt.NDArray[Any]] = {
    "table": np.arange(6, dtype=np.int8).reshape(2, 3),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "one": np.array(2.5, dtype=np.float32),
}


def offsets(stored: dict[str, TensorProto]) -> list[int]:
    places = ({entry.key: entry.value for entry in tensor.external_data} for tensor in stored.values())
    return [int(place["offset"]) for place in places]


def test_tensors_come_back(tmp_path: Path) -> None:
    stored = write_external(TENSORS, tmp_path / "weights.bin", alignment=64)
    assert offsets(stored) == [0, 64, 128]
    assert (tmp_path / "weights.bin").stat().st_size == 128 + 4
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(numpy_helper.to_array(stored[name], str(tmp_path)), array)


def test_without_an_alignment_they_lie_end_to_end(tmp_path: Path) -> None:
    assert offsets(write_external(TENSORS, tmp_path / "weights.bin")) == [0, 6, 30]
