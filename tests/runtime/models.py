"""Small models with random weights, as torch has them and as the runtime has them."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from tests.engine.fakes import subwords
from turia.config import ModelSettings, Positions
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.export.folder import write_folder
from turia.model.transformer import Transformer
from turia.runtime.folder import WEIGHTS_FILE, ModelConfig, load_folder, write_sums
from turia.runtime.graphs import Runtime
from turia.runtime.rows import Floats
from turia.runtime.shape import Precision, Shape, shape_of
from turia.runtime.tensors import read_stored
from turia.text.layout import Ints

Norm = Literal["pre", "post"]
POSITIONS = 160


class Both(NamedTuple):
    """One model, twice."""

    transformer: Transformer
    runtime: Runtime


class MakeBoth(Protocol):
    """Makes a model."""

    def __call__(self, norm: Norm, joint: bool, precision: Precision, positions: Positions = "sinusoidal") -> Both: ...


def tiny_shape(norm: Norm = "pre", joint: bool = True, positions: Positions = "sinusoidal") -> Shape:
    settings = ModelSettings(preset="tiny", norm=norm, positions=positions, max_positions=POSITIONS)
    return shape_of(settings, len(subwords()), len(subwords()), joint)


def random_transformer(shape: Shape, seed: int = 5) -> Transformer:
    """Nothing is zero or one in it: a bias or a norm that got lost would be seen."""
    torch.manual_seed(seed)
    model = Transformer(shape).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def weights_of(model: Transformer) -> dict[str, Floats]:
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def config_of(shape: Shape, precision: Precision = "float32") -> ModelConfig:
    return ModelConfig("xx", "yy", shape, precision, gamma=1.0, history=20)


def save_subwords(shape: Shape, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in set(config_of(shape).subword_files()):
        subwords().save(folder / name)


def make_both(folder: Path, norm: Norm, joint: bool, precision: Precision, positions: Positions = "sinusoidal") -> Both:
    shape = tiny_shape(norm, joint, positions)
    model = random_transformer(shape)
    save_subwords(shape, folder / "subwords")
    write_folder(folder / "model", config_of(shape, precision), weights_of(model), "a card\n", folder / "subwords")
    return Both(model, Runtime(load_folder(folder / "model")))


def put_number(folder: Path, name: str, value: float) -> None:
    """As the last number of a tensor of the folder, whose sums then fit."""
    with (folder / WEIGHTS_FILE).open("r+b") as file:
        read_stored(folder, mmap.mmap(file.fileno(), 0))[name].flat[-1] = value
    write_sums(folder)


@torch.no_grad()
def torch_logits(model: Transformer, source: Ints, reach: Ints, target: Ints, limit: Ints) -> Floats:
    """[R, V] of all rows, in one pass."""

    def row(values: Ints) -> Tensor:
        return torch.from_numpy(values)[None]

    logits: Floats = model.logits(model(row(source), row(reach), row(target), row(limit))[0]).numpy()
    return logits


def runtime_logits(
    runtime: Runtime, source: Ints, reach: Ints, target: Ints, limit: Ints, stops: list[int], prefill: int
) -> Floats:
    """[rows, V] of the rows from `prefill` on: positions encoded up to each stop, rows decoded one by one."""
    memory = None
    for begin, stop in zip([0, *stops], stops, strict=False):
        [memory] = runtime.encode([EncodeRequest(memory, source[begin:stop], reach[begin:stop])])
    assert memory is not None
    [(state, logits)] = runtime.decode([DecodeRequest(None, memory, target[:prefill], limit[:prefill])])
    rows = [logits]
    for row in range(prefill, len(target)):
        here = slice(row, row + 1)
        [(state, logits)] = runtime.decode([DecodeRequest(state, memory, target[here], limit[here])])
        rows.append(logits)
    return np.array(rows)
