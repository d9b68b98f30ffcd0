"""The heads of a model folder, through which learned policies look at its states (docs/policies.md#learned-policies).

    heads.json               version, the weights that the heads were trained for, their names and what they take
    head-NAME.bin            a two-layer perceptron: N values -> probability

A head means nothing to other weights: one that was trained for another model is refused.

A file has float32 numbers, the lowest byte first: for each of H inner values a row of N weights, a bias and the weight
that it has in the sum; and at the end the bias of the sum. So small a network takes less time in numpy than it takes to
call ONNX Runtime, and less again in native code.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from turia.errors import ConfigError, ModelError
from turia.policy.base import Head, State, head_values
from turia.runtime.folder import SUMS_FILE, WEIGHTS_FILE, ModelFolder, read_sums
from turia.schema import from_dict
from turia.system.files import read_json

Rows = npt.NDArray[np.float32]
HEADS_FILE = "heads.json"
VERSION = 3
_FLOATS = "<f4"
_EXTREME = 500.0
"""The probability of a sum below minus this is 0, and its exponential may be no number."""


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
    return f"head-{name}.bin"


class Sum(Protocol):
    """Computes a perceptron: `perceptron_sum`, or the same in native code."""

    def __call__(self, rows: Rows, states: tuple[State, ...], numbers: tuple[float, ...], /) -> float:
        """The sum over the inner values whose weights, bias and weight in the sum `rows` [H, N + 2] has."""
        ...


def perceptron_sum(rows: Rows, states: tuple[State, ...], numbers: tuple[float, ...], /) -> float:
    """As `Sum` says, in numpy."""
    # A product of matrices would be shared out among all cores, which are busy with the model.
    inner = np.vecdot(rows[:, :-2], head_values(states, *numbers))
    inner += rows[:, -2]
    np.maximum(inner, 0.0, out=inner)
    return float(inner.dot(rows[:, -1]))


class PerceptronHead:
    """A head."""

    def __init__(self, rows: Rows, bias: float, compute: Sum = perceptron_sum) -> None:
        """[H, N + 2] weights, bias and weight in the sum of each inner value; and the bias of the sum."""
        self._rows, self._bias, self._compute = rows, bias, compute

    def __call__(self, states: tuple[State, ...], /, *numbers: float) -> float:
        """The probability."""
        total = self._compute(self._rows, states, numbers) + self._bias
        if total < -_EXTREME:
            return 0.0
        return 1.0 / (1.0 + math.exp(-total))

    def save(self, path: Path) -> None:
        path.write_bytes(np.append(self._rows, np.float32(self._bias)).astype(_FLOATS).tobytes())

    @classmethod
    def load(cls, path: Path, values: int, compute: Sum = perceptron_sum) -> PerceptronHead:
        """The head of a file, which takes so many values."""
        found = path.read_bytes()
        count, rest = divmod(len(found), 4)
        inner, more = divmod(count - 1, values + 2)
        if rest or more or inner < 1:
            raise ModelError(f"{path}: {len(found):,} bytes are no head of {values} values")
        numbers = np.frombuffer(found, dtype=_FLOATS).astype(np.float32)
        if not np.isfinite(numbers).all():
            raise ModelError(f"{path}: has values that are no numbers")
        return cls(numbers[:-1].reshape(inner, values + 2), float(numbers[-1]), compute)


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
    width = folder.config.shape.width
    for name, count in found.values.items():
        expected = {"act": 2 * width + 2, "chunk": width + 1}.get(name.partition("-")[0], count)
        if count != expected:
            raise ModelError(f"{path / HEADS_FILE}: values of {name} is {count}, expected {expected} with this model")
    for name in found.files():
        if name not in folder.listed:
            raise ModelError(f"{path / name}: not in {SUMS_FILE}, so it cannot be checked")
    return found


def load_heads(folder: ModelFolder, compute: Sum = perceptron_sum) -> Mapping[str, Head]:
    """The heads of a model folder by name, computed in numpy unless told otherwise; none if it has none."""
    sizes = head_list(folder).values
    return {name: PerceptronHead.load(folder.path / head_file(name), count, compute) for name, count in sizes.items()}
