"""Everything that changes while a segmenter learns, and its one file in the run folder.

`newest.safetensors` is written after each epoch and replaced whole: weights, Adam's moments and torch's random state as
tensors, the rest as JSON in its metadata. A run that was killed goes on from there, and ends exactly as if nothing had
happened.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.optim.lr_scheduler import ReduceLROnPlateau

from turia.config import SegmenterTraining
from turia.errors import ConfigError, ModelError
from turia.system.files import write_file
from turia.training.segmenter.network import SegmenterNetwork


class Learner:
    """A network with its optimiser, its random numbers and what was found on dev so far."""

    def __init__(
        self,
        network: SegmenterNetwork,
        settings: SegmenterTraining,
        seed: int,
        threshold: float,
        made_with: dict[str, Any],
    ) -> None:
        """`made_with` is all that another run must share with this one to go on from it, as JSON data."""
        self.network, self.made_with = network, made_with
        self.optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        self.schedule = ReduceLROnPlateau(
            self.optimiser, mode="max", factor=0.5, patience=settings.patience, threshold=0.0
        )
        self.rng = np.random.default_rng(seed)
        self.thresholds = dict.fromkeys(network.windows, threshold)
        """By window; of the network's own past in the next epoch."""
        self.epochs = 0
        """Finished ones."""
        self.best = -1.0
        """The best dev macro-F1."""

    @property
    def rate(self) -> float:
        return float(self.optimiser.param_groups[0]["lr"])

    def save(self, path: Path) -> None:
        """Writes the file whole or not at all."""
        adam = self.optimiser.state_dict()
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for number, moments in adam["state"].items():
            tensors |= {f"adam.{number}.{name}": tensor for name, tensor in moments.items()}
        tensors["random"] = torch.get_rng_state()
        counters = {
            "made_with": self.made_with,
            "epochs": self.epochs,
            "best": self.best,
            "thresholds": {str(window): threshold for window, threshold in self.thresholds.items()},
            "rng": self.rng.bit_generator.state,
            "schedule": self.schedule.state_dict(),
            "groups": adam["param_groups"],
        }
        write_file(path, save(tensors, metadata={"counters": json.dumps(counters)}))

    def restore(self, path: Path) -> None:
        """Goes on where the run that wrote `path` had saved."""
        counters, tensors = _read(path)
        for part, now in self.made_with.items():
            if counters["made_with"].get(part) != now:
                raise ConfigError(
                    f"{path.parent} was begun with another {part}; choose another run folder, or --fresh to start over"
                )
        self.network.load_state_dict(_below("network.", tensors))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _below("adam.", tensors).items():
            number, _, moment = name.partition(".")
            moments.setdefault(int(number), {})[moment] = tensor
        self.optimiser.load_state_dict({"state": moments, "param_groups": counters["groups"]})
        self.schedule.load_state_dict(counters["schedule"])
        self.rng.bit_generator.state = counters["rng"]
        torch.set_rng_state(tensors["random"])
        self.thresholds = {int(window): threshold for window, threshold in counters["thresholds"].items()}
        self.epochs, self.best = counters["epochs"], counters["best"]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            counters = json.loads(file.metadata()["counters"])
            return counters, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; remove it, or --fresh to start over") from error


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
