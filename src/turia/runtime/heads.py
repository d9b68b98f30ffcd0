"""The heads of a model folder, through which learned policies look at its states (docs/policies.md#learned-policies).

    heads.json               version, the weights that the heads were trained for, their names and what they take
    head-NAME.onnx           a two-layer perceptron: values [1, N] -> probability [1, 1]

A head means nothing to other weights: one that was trained for another model is refused.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession

from turia.errors import ConfigError, ModelError
from turia.policy.base import Head, State
from turia.runtime.folder import SUMS_FILE, WEIGHTS_FILE, ModelFolder, read_sums
from turia.schema import from_dict
from turia.system.files import read_json
from turia.system.onnx import load_graph

HEADS_FILE = "heads.json"
VERSION = 2


@dataclass(frozen=True)
class HeadList:
    """What heads.json says, beside its version."""

    weights: str
    """SHA-256 sum of the weights file of the model that the heads were trained for."""
    values: dict[str, int] = field(default_factory=dict)
    """By name: how many numbers each head takes."""

    def __post_init__(self) -> None:
        for name, count in self.values.items():
            if type(count) is not int or count < 1:
                raise ConfigError(f"values of {name} is {count!r}, expected a whole number from 1")

    def save(self, folder: Path) -> None:
        data = {"version": VERSION, **dataclasses.asdict(self)}
        (folder / HEADS_FILE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> HeadList:
        path = folder / HEADS_FILE
        data = read_json(path, "the heads of a model folder", ModelError)
        if data.get("version") != VERSION:
            raise ModelError(
                f"{path}: version {data.get('version')}, this Turia reads {VERSION}; train the heads again"
            )
        names = {item.name for item in dataclasses.fields(cls)}
        try:
            return from_dict(cls, {key: value for key, value in data.items() if key in names})
        except ConfigError as error:
            raise ModelError(f"{path}: {error}") from error

    def files(self) -> list[str]:
        return [HEADS_FILE, *map(head_file, self.values)] if self.values else []


def head_file(name: str) -> str:
    return f"head-{name}.onnx"


@dataclass(frozen=True)
class OnnxHead:
    """A head, loaded when it is first asked."""

    path: Path
    values: int

    def __call__(self, values: State) -> float:
        """The probability."""
        (found,) = self._graph.run(None, {"values": values[None]})
        return float(found[0, 0])

    @cached_property
    def _graph(self) -> InferenceSession:
        try:
            graph = load_graph(self.path)
            graph.run(None, {"values": np.zeros((1, self.values), dtype=np.float32)})
        except Exception as error:  # onnxruntime raises its own exceptions, which share no other base
            raise ModelError(f"{self.path}: cannot be run as a head of {self.values} values") from error
        return graph


def head_list(folder: ModelFolder) -> HeadList:
    """What heads a model folder has, if they are its own."""
    path = folder.path
    if HEADS_FILE not in folder.listed:
        return HeadList("")
    found = HeadList.load(path)
    if found.weights != read_sums(path)[WEIGHTS_FILE]:
        raise ModelError(
            f"{path / HEADS_FILE}: heads of another model: they were trained for other weights; "
            "train them for this model with `turia policy train`"
        )
    for name in found.files():
        if name not in folder.listed:
            raise ModelError(f"{path / name}: not in {SUMS_FILE}, so it cannot be checked")
    return found


def load_heads(folder: ModelFolder) -> Mapping[str, Head]:
    """The heads of a model folder by name; none if it has none."""
    found = head_list(folder)
    return {name: OnnxHead(folder.path / head_file(name), values) for name, values in found.values.items()}
