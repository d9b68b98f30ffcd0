"""torch's files of plain tensors, without torch: `pytorch_model.bin`, which is a pickle, in an archive or bare.

Whoever made the file may mean harm. A pickle is a program, so its reader here knows only the few steps and names that
torch writes for tensors, and refuses every other one before it is done: nothing of the file is ever run. Its memory
stays within the size of the file: archives must not be compressed, which torch's never are, and a tensor has no more
numbers than its storage.

A tensor is read when it is asked for. All of them are given as float32.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.runtime.positions import Floats
from turia.system.files import check_plain

_TYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
MOST_DIMENSIONS = 8
"""Of a tensor. Weights have two or three; numpy fails at 64."""
_LONGEST_CAUSE = 200


@dataclass(frozen=True)
class PlainTensor:
    """A tensor that is read when it is asked for."""

    shape: tuple[int, ...]
    read: Callable[[], Floats]


def as_floats(values: npt.NDArray[Any], kind: str) -> Floats:
    """As float32. bfloat16, which numpy does not know, comes as whole numbers: the upper half of a float32."""
    if kind == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # a float64 may be too large for it, and is infinite then
        return values.astype(np.float32, copy=False)


def stored_type(kind: str) -> np.dtype[Any]:
    return np.dtype("<u2" if kind == "bfloat16" else kind)


def shortened(error: Exception) -> str:
    """The cause of a refusal in one short line, whatever of the file it repeats."""
    return " ".join(str(error).split())[:_LONGEST_CAUSE] or type(error).__name__


def open_torch_file(path: Path) -> dict[str, PlainTensor]:
    """The tensors of a file by their names."""
    try:
        check_plain(path)
        tensors, read_storage = _open_archive(path) if zipfile.is_zipfile(path) else _open_legacy(path)
        if not isinstance(tensors, dict) or not all(isinstance(tensor, _Tensor) for tensor in tensors.values()):
            raise pickle.UnpicklingError("expected tensors by their names")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # a pickle that is none fails in any way that it likes
        raise ModelError(f"{path}: not plain weights: {shortened(error)}") from error
    return {name: _plain_tensor(path, tensor, read_storage) for name, tensor in tensors.items()}


# --- pickles ----------------------------------------------------------------------------------------------------------


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


def _rebuild_tensor(storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: Any) -> _Tensor:
    if not isinstance(storage, _Storage) or not all(type(number) is int for number in (offset, *shape, *strides)):
        raise pickle.UnpicklingError("expected whole numbers for the shape of a tensor")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _rebuild_parameter(tensor: object, *_: Any) -> object:
    return tensor


_NAMES: dict[tuple[str, str], Callable[..., object]] = {
    # Without arguments: they could have keys that take for ever to hash.
    ("collections", "OrderedDict"): lambda: OrderedDict(),
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
}
_STEPS = (
    pickle.PROTO, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.BININT, pickle.BININT1,
    pickle.BININT2, pickle.LONG1, pickle.BINFLOAT, pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.EMPTY_TUPLE,
    pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS,
    pickle.EMPTY_DICT, pickle.GLOBAL, pickle.REDUCE, pickle.BINPERSID,
    pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET,
)  # fmt: skip
"""What torch writes (protocol 2), beside three steps that have rules of ours."""


def _is_refused(unpickler: object) -> None:
    raise pickle.UnpicklingError("it has steps that tensors do not need")


class _PlainUnpickler(pickle._Unpickler):
    """Reads tensors, and dictionaries of them; any other name in the file is refused.

    The library's reader in Python, not that in C, which takes the places of its memo from the file: 16 GB for 10 bytes.
    """

    # What the library's class has, but its types do not say.
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and name in _TYPES:
            return _TYPES[name]
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it holds {module}.{name}")
        return _NAMES[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, element_type, key = pid[:3]
        # Types first: a few hundred bytes can make a tuple whose text has no end.
        if not all(isinstance(part, str) for part in (kind, element_type, key)):
            raise pickle.UnpicklingError("expected the name of a storage")
        if kind != "storage" or element_type not in _TYPES.values():
            raise pickle.UnpicklingError(f"it holds {kind}")
        return _Storage(element_type, key)

    def _load_items(self) -> None:
        """`dict[key] = value` for pairs; names alone are keys: a tuple of tuples may take for ever to hash."""
        items = self.pop_mark()
        _put_pairs(self.stack[-1], items)

    def _load_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _put_pairs(self.stack[-1], [key, value])

    def _load_build(self) -> None:
        """Only dictionaries have more to them, which nobody needs: `_metadata`."""
        self.stack.pop()
        if not isinstance(self.stack[-1], OrderedDict):
            raise pickle.UnpicklingError("expected attributes of a dictionary alone")

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **dict.fromkeys(pickle._Unpickler.dispatch, _is_refused),
        **{step[0]: pickle._Unpickler.dispatch[step[0]] for step in _STEPS},
        pickle.SETITEMS[0]: _load_items,
        pickle.SETITEM[0]: _load_item,
        pickle.BUILD[0]: _load_build,
    }


def _put_pairs(into: object, items: Sequence[Any]) -> None:
    keys = items[::2]
    if not isinstance(into, dict) or not all(isinstance(key, str) for key in keys):
        raise pickle.UnpicklingError("expected tensors by their names")
    into.update(zip(keys, items[1::2], strict=True))


# --- numbers ----------------------------------------------------------------------------------------------------------

ReadStorage = Callable[[_Storage], npt.NDArray[Any]]


def _plain_tensor(path: Path, tensor: _Tensor, read_storage: ReadStorage) -> PlainTensor:
    def read() -> Floats:
        try:
            numbers = read_storage(tensor.storage)
            return as_floats(np.ascontiguousarray(_view(numbers, tensor)), tensor.storage.kind)
        except (OSError, EOFError, LookupError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path}: not plain weights: {shortened(error)}") from error

    return PlainTensor(tensor.shape, read)


def _view(numbers: npt.NDArray[Any], tensor: _Tensor) -> npt.NDArray[Any]:
    """The numbers of a storage that are the tensor's."""
    shape, strides, offset = tensor.shape, tensor.strides, tensor.offset
    if len(shape) != len(strides) or len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"a tensor of {len(shape)} dimensions and {len(strides)} strides")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if min(offset, *strides, *shape, last) < 0 or last >= len(numbers) or prod(shape) > len(numbers):
        raise ValueError("a tensor outside of its numbers")
    in_bytes = [stride * numbers.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(numbers[offset:], shape, in_bytes, writeable=False)


def _open_archive(path: Path) -> tuple[Any, ReadStorage]:
    """torch's format since 1.6: an archive of a pickle and a file for each storage."""
    with zipfile.ZipFile(path) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise pickle.UnpicklingError("its archive is compressed, which torch's are not")
        [described] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        tensors = _PlainUnpickler(io.BytesIO(archive.read(described))).load()
    place = described.removesuffix("data.pkl")

    def read(storage: _Storage) -> npt.NDArray[Any]:
        with zipfile.ZipFile(path) as archive:
            return np.frombuffer(archive.read(f"{place}data/{storage.key}"), stored_type(storage.kind))

    return tensors, read


def _open_legacy(path: Path) -> tuple[Any, ReadStorage]:
    """torch's format before 1.6, which many OPUS-MT models have: pickles, and the numbers of all storages."""
    with path.open("rb") as file:
        if _PlainUnpickler(file).load() != _LEGACY_MAGIC:
            raise pickle.UnpicklingError("expected a file that torch has saved")
        _PlainUnpickler(file).load()  # the format's version
        _PlainUnpickler(file).load()  # the machine that wrote it
        tensors = _PlainUnpickler(file).load()
        keys = _PlainUnpickler(file).load()
        if not isinstance(tensors, dict) or not all(isinstance(key, str) for key in keys):
            raise pickle.UnpicklingError("expected tensors by their names")
        kinds = {tensor.storage.key: tensor.storage.kind for tensor in tensors.values() if isinstance(tensor, _Tensor)}
        places = dict(_legacy_places(file, keys, kinds))

    def read(storage: _Storage) -> npt.NDArray[Any]:
        offset, numbers = places[storage.key]
        return np.memmap(path, stored_type(storage.kind), "r", offset, (numbers,))

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
        file.seek(numbers * stored_type(kinds[key]).itemsize, io.SEEK_CUR)
