"""The weights of a checkpoint in Hugging Face's layout, without torch: safetensors, or torch's files of plain tensors.

- `model.safetensors`, or the parts that `model.safetensors.index.json` names. The files are memory-mapped.
- `pytorch_model.bin`, which is a pickle. The reader here knows the few names that a file of tensors needs and refuses
  every other one before it is looked up, so nothing of the file is ever run.

A tensor is read when it is asked for: a checkpoint of 2.4 GB is never in memory as a whole. All of them are given as
float32.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.runtime.positions import Floats
from turia.system.files import read_json

SAFETENSORS, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
_LARGEST_HEADER = 100_000_000
_SAFE_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bfloat16", "I64": "<i8", "I32": "<i4"}
_TORCH_TYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


@dataclass(frozen=True)
class PlainTensor:
    """A tensor that is read when it is asked for."""

    shape: tuple[int, ...]
    read: Callable[[], Floats]


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
        return _open_pickle(folder / PICKLE)
    raise ModelError(f"{folder}: neither {SAFETENSORS} nor {PICKLE}; expected a checkpoint of Hugging Face")


def _floats(values: npt.NDArray[Any], kind: str) -> Floats:
    """As float32. bfloat16, which numpy does not know, comes as whole numbers: the upper half of a float32."""
    if kind == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32, copy=False)


def _stored_type(kind: str) -> np.dtype[Any]:
    return np.dtype("<u2" if kind == "bfloat16" else kind)


# --- safetensors ------------------------------------------------------------------------------------------------------


def _open_safetensors(path: Path) -> dict[str, PlainTensor]:
    try:
        with path.open("rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            if size > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(size))
        data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size)
        header.pop("__metadata__", None)
        return {name: _safe_tensor(data, said) for name, said in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from error


def _safe_tensor(data: npt.NDArray[np.uint8], said: Mapping[str, Any]) -> PlainTensor:
    if said["dtype"] not in _SAFE_TYPES:
        raise ValueError(f"a tensor of {said['dtype']}")
    kind, shape = _SAFE_TYPES[said["dtype"]], tuple(map(int, said["shape"]))
    begin, end = map(int, said["data_offsets"])
    if not 0 <= begin <= end <= len(data) or end - begin != prod(shape) * _stored_type(kind).itemsize:
        raise ValueError("a tensor that is not where the header says")

    def read() -> Floats:
        return _floats(data[begin:end].view(_stored_type(kind)).reshape(shape), kind)

    return PlainTensor(shape, read)


# --- torch ------------------------------------------------------------------------------------------------------------


class _Storage(NamedTuple):
    """Numbers of a file, which several tensors may share."""

    kind: str
    key: str


class _Tensor(NamedTuple):
    """What a file says of a tensor; offset and strides count numbers."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _PlainUnpickler(pickle.Unpickler):
    """Reads tensors, and dictionaries of them; any other name in the file is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and name in _TORCH_TYPES:
            return _TORCH_TYPES[name]
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it holds {module}.{name}")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, element_type, key = pid[:3]
        if kind != "storage" or element_type not in _TORCH_TYPES.values():
            raise pickle.UnpicklingError(f"it holds {kind}")
        return _Storage(element_type, str(key))


def _rebuild_tensor(storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: Any) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def _open_pickle(path: Path) -> dict[str, PlainTensor]:
    try:
        opened = _open_archive(path) if zipfile.is_zipfile(path) else _open_legacy(path)
        tensors, read_storage = opened
        if not isinstance(tensors, dict) or not all(isinstance(tensor, _Tensor) for tensor in tensors.values()):
            raise pickle.UnpicklingError("expected tensors by their names")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # a pickle that is none fails in any way that it likes
        raise ModelError(f"{path}: not plain weights: {error or type(error).__name__}") from error
    return {str(name): _torch_tensor(path, tensor, read_storage) for name, tensor in tensors.items()}


def _torch_tensor(path: Path, tensor: _Tensor, read_storage: Callable[[_Storage], npt.NDArray[Any]]) -> PlainTensor:
    def read() -> Floats:
        numbers = read_storage(tensor.storage)
        last = tensor.offset + sum(
            (size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
        )
        if min(tensor.offset, *tensor.strides, *tensor.shape, last) < 0 or last >= len(numbers):
            raise ModelError(f"{path}: not plain weights: a tensor outside of its numbers")
        strides = [stride * numbers.itemsize for stride in tensor.strides]
        values = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)
        return _floats(np.ascontiguousarray(values), tensor.storage.kind)

    return PlainTensor(tensor.shape, read)


def _open_archive(path: Path) -> tuple[Any, Callable[[_Storage], npt.NDArray[Any]]]:
    """torch's format since 1.6: an archive of a pickle and a file for each storage."""
    with zipfile.ZipFile(path) as archive:
        [described] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        tensors = _PlainUnpickler(io.BytesIO(archive.read(described))).load()
    place = described.removesuffix("data.pkl")

    def read(storage: _Storage) -> npt.NDArray[Any]:
        try:
            with zipfile.ZipFile(path) as archive:
                return np.frombuffer(archive.read(f"{place}data/{storage.key}"), _stored_type(storage.kind))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path}: not plain weights: {error}") from error

    return tensors, read


def _open_legacy(path: Path) -> tuple[Any, Callable[[_Storage], npt.NDArray[Any]]]:
    """torch's format before 1.6, which many OPUS-MT models have: pickles, and the numbers of all storages."""
    with path.open("rb") as file:
        if _PlainUnpickler(file).load() != _LEGACY_MAGIC:
            raise pickle.UnpicklingError("expected a file that torch has saved")
        _PlainUnpickler(file).load()  # the format's version
        _PlainUnpickler(file).load()  # the machine that wrote it
        tensors = _PlainUnpickler(file).load()
        keys = _PlainUnpickler(file).load()
        if not isinstance(tensors, dict):
            raise pickle.UnpicklingError("expected tensors by their names")
        kinds = {tensor.storage.key: tensor.storage.kind for tensor in tensors.values() if isinstance(tensor, _Tensor)}
        places = dict(_legacy_places(file, [str(key) for key in keys], kinds))

    def read(storage: _Storage) -> npt.NDArray[Any]:
        offset, numbers = places[storage.key]
        return np.memmap(path, _stored_type(storage.kind), "r", offset, (numbers,))

    return tensors, read


def _legacy_places(
    file: io.BufferedReader, keys: Sequence[str], kinds: Mapping[str, str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Where the numbers of each storage begin, and how many there are."""
    for key in keys:
        numbers = struct.unpack("<q", file.read(8))[0]
        if numbers < 0 or key not in kinds:
            raise pickle.UnpicklingError("expected the numbers of its tensors")
        yield key, (file.tell(), numbers)
        file.seek(numbers * _stored_type(kinds[key]).itemsize, io.SEEK_CUR)
