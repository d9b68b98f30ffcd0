"""Weights on disk: safetensors and JSON, written whole or not at all. Nothing is ever pickled.

A checkpoint is a folder `model.safetensors` + `model.json` (+ what training adds). It is written under another name and
renamed when complete, so that a reader never sees half of one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from turia.errors import ModelError, ResourceError
from turia.model.presets import Shape
from turia.model.transformer import Transformer
from turia.typed import from_dict

WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"


def save_checkpoint(
    folder: Path,
    model: Transformer,
    more_tensors: Mapping[str, Mapping[str, Tensor]] | None = None,
    more_json: Mapping[str, Any] | None = None,
) -> None:
    """Writes the new `folder` atomically: the model, `more_tensors` as NAME.safetensors, `more_json` as NAME.json."""
    assert not folder.exists(), f"{folder} would be without a good checkpoint while it is replaced"
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        for name, tensors in {"model": model.state_dict(), **(more_tensors or {})}.items():
            write_durably(partial / f"{name}.safetensors", save({k: v.contiguous() for k, v in tensors.items()}))
        for name, data in {"model": asdict(model.shape), **(more_json or {})}.items():
            write_durably(partial / f"{name}.json", json.dumps(data, indent=1).encode())
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise ResourceError(
            f"{folder}: could not save the checkpoint: {error.strerror}; earlier checkpoints are untouched"
        ) from error


def write_durably(path: Path, content: bytes) -> None:
    """Writes and waits until the disk has it: a rename must not overtake the content."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, content: bytes) -> None:
    """Writes under another name and renames: whoever is killed meanwhile leaves the old file or the new one."""
    partial = path.with_name(path.name + ".partial")
    write_durably(partial, content)
    partial.replace(path)


def load_shape(folder: Path) -> Shape:
    """The shape that a checkpoint's weights have."""
    return from_dict(Shape, load_json(folder / DESCRIPTION))


def load_json(path: Path) -> dict[str, Any]:
    """A JSON object from a checkpoint."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: missing; expected a checkpoint folder") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ModelError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return data


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return load_file(path)
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
