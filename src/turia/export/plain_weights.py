"""The weights of a checkpoint in Hugging Face's layout, without torch: safetensors, or torch's files of plain tensors.

- `model.safetensors`, or the parts that `model.safetensors.index.json` names. The files are memory-mapped.
- `pytorch_model.bin`, which is a pickle (turia.export.torch_files).

A tensor is read when it is asked for: a checkpoint of 2.4 GB is never in memory as a whole. All of them are given as
float32.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.export.torch_files import MOST_DIMENSIONS, PlainTensor, as_floats, open_torch_file, shortened, stored_type
from turia.runtime.positions import Floats
from turia.system.files import check_plain, read_json

SAFETENSORS, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
_LARGEST_HEADER = 100_000_000
_SAFE_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bfloat16", "I64": "<i8", "I32": "<i4"}


def open_weights(folder: Path) -> dict[str, PlainTensor]:
    """The tensors of a checkpoint by their names."""
    if (folder / SAFETENSORS).exists():
        return _open_safetensors(folder / SAFETENSORS)
    if (folder / INDEX).exists():
        parts = read_json(folder / INDEX, "a list of weight files", ModelError).get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(part, str) for part in parts.values()):
            raise ModelError(f"{folder / INDEX}: expected weight_map, the file of each tensor")
        if any(Path(part).name != part for part in parts.values()):
            raise ModelError(f"{folder / INDEX}: names a file outside of the folder")
        return {
            name: tensor
            for part in sorted(set(parts.values()))
            for name, tensor in _open_safetensors(folder / part).items()
        }
    if (folder / PICKLE).exists():
        return open_torch_file(folder / PICKLE)
    raise ModelError(f"{folder}: neither {SAFETENSORS} nor {PICKLE}; expected a checkpoint of Hugging Face")


def _open_safetensors(path: Path) -> dict[str, PlainTensor]:
    try:
        check_plain(path)
        with path.open("rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            if size > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(size))
        data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size)
        header.pop("__metadata__", None)
        return {name: _safe_tensor(data, said) for name, said in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {shortened(error)}") from error


def _safe_tensor(data: npt.NDArray[np.uint8], said: Mapping[str, Any]) -> PlainTensor:
    if said["dtype"] not in _SAFE_TYPES:
        raise ValueError(f"a tensor of {said['dtype']}")
    kind, shape, (begin, end) = _SAFE_TYPES[said["dtype"]], tuple(said["shape"]), said["data_offsets"]
    if len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"a tensor of {len(shape)} dimensions")
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)):
        raise ValueError("a tensor whose shape or place is no list of whole numbers")
    if not begin <= end <= len(data) or end - begin != prod(shape) * stored_type(kind).itemsize:
        raise ValueError("a tensor that is not where the header says")

    def read() -> Floats:
        return as_floats(data[begin:end].view(stored_type(kind)).reshape(shape), kind)

    return PlainTensor(shape, read)
