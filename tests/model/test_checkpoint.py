"""Checkpoints come back as they were, average, and are refused where they do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from turia.config import ModelSettings
from turia.errors import ModelError, ResourceError
from turia.model.checkpoint import (
    WEIGHTS,
    average_model,
    load_json,
    load_model,
    load_shape,
    load_tensors,
    load_weights,
    save_checkpoint,
)
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of

SHAPE = shape_of(ModelSettings(preset="tiny"), 30, 30, joint=True)


def model(seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(SHAPE)


def assert_same(one: Transformer, other: Transformer) -> None:
    states = one.state_dict(), other.state_dict()
    assert states[0].keys() == states[1].keys()
    for name, tensor in states[0].items():
        assert torch.equal(tensor, states[1][name]), name


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    folder, saved = tmp_path / "checkpoints" / "step-5", model(1)
    moments = {"moments": torch.arange(6.0).reshape(2, 3).T}  # not contiguous, which safetensors would refuse
    save_checkpoint(folder, saved, {"optimizer": moments}, {"progress": {"step": 5}})
    assert load_shape(folder) == SHAPE
    assert_same(load_model(folder), saved)
    assert torch.equal(load_tensors(folder / "optimizer.safetensors")["moments"], moments["moments"])
    assert load_json(folder / "progress.json") == {"step": 5}
    assert [entry.name for entry in folder.parent.iterdir()] == ["step-5"]


def test_what_the_disk_refuses_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError, match=r"could not save the checkpoint: .*; earlier checkpoints are untouched"):
        save_checkpoint(tmp_path / "file" / "step-5", model(1))


def test_an_average_is_the_mean_of_the_weights(tmp_path: Path) -> None:
    models = [model(seed) for seed in range(3)]
    for number, one in enumerate(models):
        save_checkpoint(tmp_path / str(number), one)
    average = average_model(tmp_path / str(number) for number in range(3)).state_dict()
    for name, tensor in average.items():
        expected = torch.stack([one.state_dict()[name] for one in models]).mean(dim=0)
        torch.testing.assert_close(tensor, expected)


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "step-5", model(1))
    other = Transformer(shape_of(ModelSettings(preset="tiny", width=32), 30, 30, joint=True))
    before = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    with pytest.raises(ModelError, match=r"step-5: tensor .* is \(.*\), expected \(.*\)"):
        load_weights(other, tmp_path / "step-5")
    assert all(torch.equal(tensor, before[name]) for name, tensor in other.state_dict().items())


def test_a_folder_that_is_no_checkpoint_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.json: no such file; expected a checkpoint folder"):
        load_model(tmp_path)
    save_checkpoint(tmp_path / "step-5", model(1))
    (tmp_path / "step-5" / WEIGHTS).write_bytes(json.dumps({}).encode())
    with pytest.raises(ModelError, match=r"model\.safetensors: cannot be read as safetensors"):
        load_model(tmp_path / "step-5")
