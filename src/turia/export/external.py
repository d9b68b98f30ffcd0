"""What the graphs of translators and of segmenters have in common as files: their format, and weights beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

OPSET = 17
IR_VERSION = 9
"""The format that goes with the operator set: what ONNX Runtime has read since 2023."""


def write_external(tensors: Mapping[str, npt.NDArray[Any]], path: Path, alignment: int = 1) -> dict[str, TensorProto]:
    """Writes the tensors into one file, each at a multiple of `alignment` bytes. Returns the initialisers that refer to
    them, for graphs in the same folder."""
    stored = {}
    with path.open("wb") as file:
        for name, array in tensors.items():
            file.write(bytes(-file.tell() % alignment))
            place = {"location": path.name, "offset": file.tell(), "length": array.nbytes}
            file.write(np.ascontiguousarray(array).tobytes())
            stored[name] = TensorProto(
                name=name,
                data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
                dims=array.shape,
                data_location=TensorProto.EXTERNAL,
            )
            for key, value in place.items():
                stored[name].external_data.add(key=key, value=str(value))
    return stored
