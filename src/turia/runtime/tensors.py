"""The tensors of a model folder, read without the package onnx: where each lies in the file of weights, its graphs say.

A graph is a message of protocol buffers (onnx.proto): a model has a graph (field 7), a graph has initialisers (5), and
an initialiser has its sizes (1), type (2), name (8), and where its numbers are in another file (13).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.runtime.folder import WEIGHTS_FILE, Side, graph_file

Tensors = dict[str, npt.NDArray[Any]]

_TYPES: dict[int, npt.DTypeLike] = {1: np.float32, 3: np.int8}
"""ONNX's numbers for float32 and int8."""
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def mapped(path: Path, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """The numbers of a file, which are read when they are used."""
    try:
        return np.memmap(path, dtype=kind, mode="r")
    except (OSError, ValueError) as error:  # an empty file, for one
        raise ModelError(f"{path}: cannot be mapped into memory: {error}") from error


def map_weights(folder: Path) -> mmap.mmap:
    """The file of weights, mapped into memory."""
    path = folder / WEIGHTS_FILE
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file, for one
        raise ModelError(f"{path}: cannot be mapped into memory: {error}") from error


def let_go(file: mmap.mmap) -> None:
    """Gives the pages back that were read: they come again from the file if they are needed, and count until then as
    nobody's."""
    if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        file.madvise(mmap.MADV_DONTNEED)


def read_stored(folder: Path, file: mmap.mmap | None = None) -> Tensors:
    """The tensors of the encoder and the decoder that lie in the file of weights, which is mapped and not copied."""
    weights = np.frombuffer(map_weights(folder) if file is None else file, dtype=np.uint8)
    tensors: Tensors = {}
    sides: tuple[Side, Side] = ("encoder", "decoder")
    for side in sides:
        path = folder / graph_file(side, 1)
        try:
            for name, tensor in _stored_tensors(memoryview(path.read_bytes()), weights):
                tensors[name] = tensor
        except (IndexError, KeyError, ValueError) as error:
            raise ModelError(f"{path}: its tensors cannot be read: {error!r}") from error
    return tensors


def check_numbers(folder: Path, tensors: Tensors) -> None:
    """Raises if a weight is NaN or infinite. A greedy search would write words all the same."""
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32:
            continue  # whole numbers are always numbers
        # Models of others forbid a piece by a bias of -inf. The comparison is false for NaN.
        fine = tensor < np.inf if name == "logits_bias" else np.isfinite(tensor)
        if not fine.all():
            raise ModelError(f"{folder / WEIGHTS_FILE}: {name} has values that are no numbers: the weights are damaged")


def _stored_tensors(model: memoryview, weights: npt.NDArray[np.uint8]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for graph in _parts(model, 7):
        for tensor in _parts(graph, 5):
            fields = list(_fields(tensor))
            place = dict(_entry(value) for field, value in fields if field == 13)
            if not place:
                continue  # it lies in the graph itself: a constant of its nodes
            numbers = {field: value for field, value in fields if isinstance(value, int)}
            names = [bytes(value).decode() for field, value in fields if field == 8 and not isinstance(value, int)]
            begin, length = int(place["offset"]), int(place["length"])
            kind = _TYPES[numbers[2]]
            yield names[0], weights[begin : begin + length].view(kind).reshape(_sizes(fields))


def _sizes(fields: list[tuple[int, int | memoryview]]) -> list[int]:
    """One after the other, or packed into one field."""
    sizes: list[int] = []
    for field, value in fields:
        if field == 1:
            sizes += [value] if isinstance(value, int) else _varints(value)
    return sizes


def _entry(message: int | memoryview) -> tuple[str, str]:
    """A key and its value."""
    if isinstance(message, int):
        raise ValueError("an entry that is a number")
    texts = {field: bytes(value).decode() for field, value in _fields(message) if not isinstance(value, int)}
    return texts[1], texts[2]


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for field, value in _fields(message):
        if field == wanted and not isinstance(value, int):
            yield value


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The numbers of all fields, with whole numbers or bytes; other kinds are passed over."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            number, at = _varint(message, at)
            yield field, number
        elif kind == _BYTES:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field ends behind its message")
            yield field, message[at : at + length]
            at += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of kind {kind}")


def _varints(message: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(message):
        number, at = _varint(message, at)
        found.append(number)
    return found


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number, seven bits a byte, the lowest first; and the place after it."""
    number, shift = 0, 0
    while True:
        byte = message[at]
        if shift > 63:
            # A number of a megabyte would take minutes.
            raise ValueError("a number of more than 64 bits")
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
