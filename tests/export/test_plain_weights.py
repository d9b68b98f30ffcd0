"""Weights are read without torch, to the bit, from every format that torch and safetensors write; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from turia.errors import ModelError
from turia.export.plain_weights import open_weights

KINDS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@pytest.fixture
def tensors() -> dict[str, torch.Tensor]:
    chance = torch.Generator().manual_seed(1)
    made = {f"of {kind}": torch.randn(3, 5, generator=chance).to(kind) for kind in KINDS}
    return made | {"one": torch.tensor(2.5), "flat": torch.arange(7.0), "whole": torch.arange(4)}


def check(folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    found = open_weights(folder)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].shape == tuple(tensor.shape)
        values = found[name].read()
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, tensor.float().numpy(), err_msg=name)


def test_safetensors(tensors: dict[str, torch.Tensor], tmp_path: Path) -> None:
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    check(tmp_path, tensors)


def test_safetensors_in_parts(tensors: dict[str, torch.Tensor], tmp_path: Path) -> None:
    names = list(tensors)
    parts = {"model-1.safetensors": names[:3], "model-2.safetensors": names[3:]}
    for part, own in parts.items():
        save_file({name: tensors[name] for name in own}, tmp_path / part)
    where = {name: part for part, own in parts.items() for name in own}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}), encoding="utf-8")
    check(tmp_path, tensors)
    index.write_text(json.dumps({"weight_map": {"one": "../model-1.safetensors"}}), encoding="utf-8")
    with pytest.raises(ModelError, match="names a file outside of the folder"):
        open_weights(tmp_path)


@pytest.mark.parametrize("archive", [True, False], ids=["since 1.6", "before 1.6"])
def test_files_of_torch(archive: bool, tensors: dict[str, torch.Tensor], tmp_path: Path) -> None:
    shared = torch.arange(12.0).view(3, 4)
    # Parts of one storage, one of them turned, and a parameter.
    views = {"turned": shared.T, "part": shared[1:, 2:], "parameter": torch.nn.Parameter(torch.ones(2))}
    saved = torch.nn.Module()
    state: dict[str, Any] = saved.state_dict() | tensors | views
    torch.save(state, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=archive)
    check(tmp_path, {name: tensor.detach() for name, tensor in state.items()})


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize(
    "content", [{"code": eval}, torch.zeros(2), {"step": 3}, [torch.zeros(1)], {"path": Path("x")}], ids=str
)
def test_what_is_not_plain_tensors_is_refused(content: Any, archive: bool, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=archive)
    with pytest.raises(ModelError, match="not plain weights"):
        open_weights(tmp_path)


class Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("archive", [True, False])
def test_nothing_of_a_file_is_run(archive: bool, tmp_path: Path) -> None:
    torch.save({"x": Harmful(tmp_path / "ran")}, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=archive)
    with pytest.raises(ModelError, match="not plain weights"):
        open_weights(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 20, b"\xff" * 20, b"\x04" + b"\x00" * 7 + b"[1]x"],
    ids=["empty", "zeros", "too long", "no object"],
)
def test_damaged_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="cannot be read as safetensors"):
        open_weights(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ModelError, match="not plain weights"):
        open_weights(tmp_path)


def test_a_tensor_that_the_header_puts_elsewhere(tmp_path: Path) -> None:
    header = json.dumps({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 400]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    with pytest.raises(ModelError, match="not where the header says"):
        open_weights(tmp_path)


def test_no_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        open_weights(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        '{"x": ' + "[" * 100_000,
        '{"x": {"dtype": "F32", "shape": [1e999], "data_offsets": [0, 4]}}',
        '{"x": {"dtype": "F32", "shape": [-1, -4], "data_offsets": [0, 16]}}',
        '{"x": {"dtype": "F32", "shape": [true], "data_offsets": [0, 4]}}',
        '{"x": {"dtype": "F32\\n", "shape": [1], "data_offsets": [0, 4]}}',
        '{"x": {"dtype": "F32", "shape": [' + ",".join("1" * 70) + '], "data_offsets": [0, 4]}}',
    ],
    ids=["deep", "endless", "negative", "no number", "two lines", "dimensions"],
)
def test_harmful_headers(header: str, tmp_path: Path) -> None:
    data = header.encode()
    (tmp_path / "model.safetensors").write_bytes(len(data).to_bytes(8, "little") + data + bytes(16))
    with pytest.raises(ModelError, match="cannot be read as safetensors: ") as refused:
        open_weights(tmp_path)
    assert len(str(refused.value).splitlines()) == 1
