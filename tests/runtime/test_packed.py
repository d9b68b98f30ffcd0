"""Matrices lie in the folder as native code reads them, and processes that load it share them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.models import config_of, random_transformer, save_subwords, tiny_shape, weights_of
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.errors import ModelError
from turia.export.folder import write_folder
from turia.runtime.folder import ModelFolder, load_folder, write_sums
from turia.runtime.native import NativeRuntime
from turia.runtime.packed import PACKED_FILE, add_packed, matrix_sizes, packed, packed_sizes, shared_matrices
from turia.runtime.tensors import read_stored


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    path = tmp_path_factory.mktemp("packed")
    shape = tiny_shape("post", False)
    save_subwords(shape, path / "subwords")
    weights = weights_of(random_transformer(shape))
    write_folder(path / "model", config_of(shape, "int8"), weights, "a card\n", path / "subwords")
    return load_folder(path / "model")


@pytest.fixture(scope="module")
def shared(folder: ModelFolder) -> ModelFolder:
    """The same with the file."""
    add_packed(folder)
    return load_folder(folder.path)


def test_a_block_has_sixteen_columns_and_four_rows() -> None:
    matrix = np.arange(8 * 20).astype(np.int8).reshape(8, 20)
    found = packed(matrix)
    assert found.shape == packed_sizes(8, 20) == (2, 2, 16, 4)
    assert found[0, 1, 3].tolist() == matrix[4:8, 3].tolist()
    assert found[1, 0, 3].tolist() == matrix[0:4, 19].tolist()
    assert not found[1, :, 4:].any(), "columns that the matrix has not"


def test_every_matrix_is_in_the_file(shared: ModelFolder) -> None:
    tensors, found = read_stored(shared.path), shared_matrices(shared)
    assert {f"{name}.weight" for name in found} == {name for name, one in tensors.items() if one.dtype == np.int8} - {
        "source_embedding.weight"
    }
    assert (shared.path / PACKED_FILE).stat().st_size == sum(one.size for one in found.values())
    name = "decoder_layers.1.cross_attention"
    np.testing.assert_array_equal(found[name], packed(tensors[f"{name}.weight"]))
    assert matrix_sizes(shared.config.shape)[name] == tensors[f"{name}.weight"].shape
    assert all(not one.flags.writeable and not one.flags.owndata for one in found.values()), "mapped, not copied"


def test_a_folder_without_the_file_shares_nothing(shared: ModelFolder) -> None:
    assert shared_matrices(replace(shared, listed=shared.listed - {PACKED_FILE})) == {}


def test_native_code_computes_the_same_with_it(shared: ModelFolder) -> None:
    kernels = pytest.importorskip("turia_kernels", reason="the package turia-kernels is not installed")
    own = NativeRuntime(replace(shared, listed=shared.listed - {PACKED_FILE}), kernels.Kernels())
    ids, full = np.arange(10, 15), np.full(5, 5)
    scores = []
    for runtime in (own, NativeRuntime(shared, kernels.Kernels())):
        [memory] = runtime.encode([EncodeRequest(None, ids, full)])
        [(_, logits)] = runtime.decode([DecodeRequest(None, memory, ids[:1], full[:1])])
        scores.append(logits)
    np.testing.assert_array_equal(scores[0], scores[1])


def test_a_file_of_another_model_is_refused(shared: ModelFolder, tmp_path: Path) -> None:
    import shutil

    folder = shutil.copytree(shared.path, tmp_path / "model")
    content = bytearray((folder / PACKED_FILE).read_bytes())
    (folder / PACKED_FILE).write_bytes(content[:-1])
    write_sums(folder)
    with pytest.raises(ModelError, match=r"packed.bin: \d+ bytes, fewer than the matrices"):
        shared_matrices(load_folder(folder))
    kernels = pytest.importorskip("turia_kernels", reason="the package turia-kernels is not installed")
    content[0] ^= 1
    (folder / PACKED_FILE).write_bytes(content)
    write_sums(folder)
    with pytest.raises(ModelError, match=r"packed.bin: target_embedding is not the one of weights.bin"):
        NativeRuntime(load_folder(folder), kernels.Kernels())
