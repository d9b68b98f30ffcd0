"""The matrices of a model in the order in which native code reads them, as a file of the model folder.

Native code is given matrices in blocks of 16 columns and 4 rows. Made when a model is loaded, they belong to one
process. In a file they are mapped into memory, and all processes that load the folder share them. The price is room on
the disk, where weights then lie twice.

Letters: K inputs of a matrix, N outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.runtime.folder import ModelFolder, write_sums
from turia.runtime.shape import Shape
from turia.runtime.tensors import mapped, read_stored
from turia.runtime.weights import decoder_layers, encoder_layers

PACKED_FILE = "packed.bin"
LOGITS, MEMORY = "target_embedding", "memory"
COLUMNS, ROWS = 16, 4
"""Of a block."""
Bytes = npt.NDArray[np.int8]


def matrix_sizes(shape: Shape) -> dict[str, tuple[int, int]]:
    """K and N of each matrix, in the order of the file."""
    width, inner = shape.width, shape.feed_forward
    sizes = {LOGITS: (width, shape.target_vocabulary), MEMORY: (width, 2 * shape.decoder_layers * width)}
    for layer in (*encoder_layers(shape), *decoder_layers(shape)):
        sizes[f"{layer}.attention"] = (width, 3 * width)
        sizes[f"{layer}.attention.output"] = (width, width)
        if layer in decoder_layers(shape):
            sizes[f"{layer}.cross_attention"] = sizes[f"{layer}.cross_attention.output"] = (width, width)
        sizes[f"{layer}.feed_forward.expand"] = (width, inner)
        sizes[f"{layer}.feed_forward.contract"] = (inner, width)
    return sizes


def packed_sizes(inputs: int, outputs: int) -> tuple[int, int, int, int]:
    return -(-outputs // COLUMNS), inputs // ROWS, COLUMNS, ROWS


def packed(matrix: Bytes) -> Bytes:
    """[K, N] -> [N / 16, K / 4, 16, 4]; columns that are missing are zero."""
    blocks, groups, *_ = packed_sizes(*matrix.shape)
    wide = np.zeros((len(matrix), blocks * COLUMNS), dtype=np.int8)
    wide[:, : matrix.shape[1]] = matrix
    return np.ascontiguousarray(wide.reshape(groups, ROWS, blocks, COLUMNS).transpose(2, 0, 3, 1))


def add_packed(folder: ModelFolder) -> None:
    """Writes the file into a folder that native code can run (kernels.py), and its sum."""
    tensors: dict[str, npt.NDArray[Any]] = read_stored(folder.path)
    with (folder.path / PACKED_FILE).open("wb") as file:
        for name in matrix_sizes(folder.config.shape):
            tensor = tensors[f"{name}.weight"]
            file.write(packed(tensor.T if name == LOGITS else tensor).data)
    write_sums(folder.path)


def shared_matrices(folder: ModelFolder) -> dict[str, Bytes]:
    """The matrices of the file, mapped; none if the folder has no such file."""
    if PACKED_FILE not in folder.listed:
        return {}
    path, found, begin = folder.path / PACKED_FILE, dict[str, Bytes](), 0
    numbers = mapped(path, np.int8)
    for name, size in matrix_sizes(folder.config.shape).items():
        sizes = packed_sizes(*size)
        end = begin + int(np.prod(sizes))
        if end > len(numbers):
            raise ModelError(f"{path}: {len(numbers)} bytes, fewer than the matrices of config.json take")
        found[name] = np.asarray(numbers[begin:end]).reshape(sizes)
        begin = end
    return found
