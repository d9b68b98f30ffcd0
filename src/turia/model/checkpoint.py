"""Weights on disk: safetensors and JSON, written whole or not at all. Nothing is ever pickled.

A checkpoint is a folder `model.safetensors` + `model.json` (+ what training adds). A reader never sees half of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from turia.errors import ModelError, ResourceError
from turia.model.transformer import Transformer
from turia.runtime.shape import Shape, read_shape
from turia.system.files import read_json, replacing

WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"


def save_checkpoint(
    folder: Path,
    model: Transformer,
    more_tensors: Mapping[str, Mapping[str, Tensor]] | None = None,
    more_json: Mapping[str, Any] | None = None,
) -> None:
    """Writes the new `folder` atomically: the model, `more_tensors` as NAME.safetensors, `more_json` as NAME.json."""
    assert not folder.exists(), f"{folder} would be without a good checkpoint while it is replaced"
    try:
        with replacing(folder) as new:
            new.mkdir()
            for name, tensors in {"model": model.state_dict(), **(more_tensors or {})}.items():
                content = save({key: tensor.contiguous() for key, tensor in tensors.items()})
                (new / f"{name}.safetensors").write_bytes(content)
            for name, data in {"model": asdict(model.shape), **(more_json or {})}.items():
                (new / f"{name}.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    except OSError as error:
        raise ResourceError(
            f"{folder}: could not save the checkpoint: {error.strerror}; earlier checkpoints are untouched"
        ) from error


def load_shape(folder: Path) -> Shape:
    """The shape that a checkpoint's weights have."""
    return read_shape(load_json(folder / DESCRIPTION))


def load_json(path: Path) -> dict[str, Any]:
    """A JSON object from a checkpoint."""
    return read_json(path, "a checkpoint folder", ModelError)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from error


def tensor_names(path: Path) -> list[str]:
    """The names of the tensors of a safetensors file, without their values."""
    try:
        with safe_open(path, "pt") as file:
            return list(file.keys())
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from error


def load_weights(model: Transformer, folder: Path) -> None:
    """Fills `model` from a checkpoint of the same shape."""
    fill_model(model, load_tensors(folder / WEIGHTS), folder)


def load_model(folder: Path) -> Transformer:
    """The model of one checkpoint."""
    model = Transformer(load_shape(folder))
    load_weights(model, folder)
    return model


def average_model(folders: Iterable[Path]) -> Transformer:
    """The mean of several checkpoints' weights (checkpoint averaging)."""
    folders = list(folders)
    assert folders, "nothing to average"
    model = Transformer(load_shape(folders[0]))
    total: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in load_tensors(folder / WEIGHTS).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    fill_model(model, {name: (tensor / len(folders)).float() for name, tensor in total.items()}, folders[0])
    return model


def fill_model(model: Transformer, tensors: dict[str, Tensor], folder: Path) -> None:
    """Loads `tensors`, which came from `folder`, if they are what the model has."""
    expected = model.state_dict()
    for name in expected.keys() | tensors.keys():
        wanted = tuple(expected[name].shape) if name in expected else None
        found = tuple(tensors[name].shape) if name in tensors else None
        if wanted != found:
            raise ModelError(f"{folder}: tensor {name} is {found}, expected {wanted}")
    with torch.no_grad():
        model.load_state_dict(tensors)
