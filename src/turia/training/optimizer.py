"""The optimiser of a run: Adam for all parameters, or Muon for the matrices and Adam for the rest.

Both learn at a share of their own peak rate that the schedule gives. What they remember goes into checkpoints by the
names of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from turia.config import Training
from turia.errors import ConfigError, ModelError
from turia.model.checkpoint import tensor_names
from turia.model.transformer import Transformer
from turia.training.distributed import Ranks
from turia.training.muon import Muon, matrices_of

OPTIMIZER = "optimizer.safetensors"
"""The file of a checkpoint that has what is remembered."""
_ADAM_STATE = ("exp_avg", "exp_avg_sq", "step")
_MUON_STATE = ("momentum",)


def check_optimizer(training: Training, checkpoint: Path) -> None:
    """Refuses a checkpoint of another optimiser. The file tells, not the recipe of its run: that can be edited."""
    muon = any(name.endswith(f".{_MUON_STATE[0]}") for name in tensor_names(checkpoint / OPTIMIZER))
    before = "muon" if muon else "adam"
    if before != training.optimizer:
        raise ConfigError(
            f"{checkpoint} was trained with training.optimizer = {before!r}, the recipe has {training.optimizer!r}; "
            "set it back, or choose another run folder and training.start_from, or --fresh to start over"
        )


class _AllAtOnce(torch.optim.Optimizer):
    """Several optimisers as the one that a GradScaler looks at. It would let one of two step while it skips the other,
    with gradients that clipping has by then multiplied with the other's infinite norm."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        groups = [group for optimizer in optimizers for group in optimizer.param_groups]
        super().__init__([parameter for group in groups for parameter in group["params"]], {})
        self._optimizers = optimizers

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        assert closure is None
        for optimizer in self._optimizers:
            optimizer.step()


class Optimizer:
    """What the training loop needs of one."""

    def __init__(
        self, model: Transformer, training: Training, peers: Ranks, precision: torch.dtype = torch.float32
    ) -> None:
        """`precision` of Muon's own products."""
        self.parameters = dict(model.named_parameters())
        matrices = matrices_of(model) if training.optimizer == "muon" else {}
        self._adam = torch.optim.Adam(
            [parameter for name, parameter in self.parameters.items() if name not in matrices],
            lr=training.learning_rate,
            betas=training.betas,
            weight_decay=training.weight_decay,
            fused=True,
        )
        self._peaks: list[tuple[torch.optim.Optimizer, float]] = [(self._adam, training.learning_rate)]
        if matrices:
            muon = Muon(
                [(self.parameters[name], blocks) for name, blocks in matrices.items()],
                training.muon_rate,
                training.muon_momentum,
                training.weight_decay,
                peers.rank,
                peers.world,
                precision,
            )
            self._peaks.append((muon, training.muon_rate))
        self._all = _AllAtOnce([optimizer for optimizer, _ in self._peaks])
        self._keys = {name: _MUON_STATE if name in matrices else _ADAM_STATE for name in self.parameters}
        self._owner = {
            parameter: optimizer
            for optimizer, _ in self._peaks
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        # Otherwise there would be none to save until the first step that loss scaling does not skip.
        for name, parameter in self.parameters.items():
            self._owner[parameter].state[parameter] = {
                key: torch.zeros((), device=parameter.device) if key == "step" else torch.zeros_like(parameter)
                for key in self._keys[name]
            }

    def set_rate(self, share: float) -> None:
        """Every rate to this share of its peak."""
        for optimizer, peak in self._peaks:
            for group in optimizer.param_groups:
                group["lr"] = share * peak

    def zero_grad(self) -> None:
        for optimizer, _ in self._peaks:
            optimizer.zero_grad(set_to_none=True)

    def unscale(self, scaler: torch.amp.GradScaler) -> None:
        scaler.unscale_(self._all)

    def step(self, scaler: torch.amp.GradScaler) -> None:
        """A step of all, or of none if any gradient is not finite, as happens where losses are scaled."""
        scaler.step(self._all)
        scaler.update()

    def state(self) -> dict[str, Tensor]:
        """What is remembered, by parameter and kind."""
        return {
            f"{name}.{key}": self._owner[parameter].state[parameter][key]
            for name, parameter in self.parameters.items()
            for key in self._keys[name]
        }

    def load(self, state: Mapping[str, Tensor], checkpoint: Path) -> None:
        """Goes on from what `state` gave; it was read from `checkpoint`."""
        wanted = {f"{name}.{key}" for name, keys in self._keys.items() for key in keys}
        if wanted != state.keys():
            raise ModelError(f"{checkpoint / OPTIMIZER}: does not have what the optimiser of this model remembers")
        for name, parameter in self.parameters.items():
            self._owner[parameter].state[parameter] = {
                key: state[f"{name}.{key}"].to(parameter.device) for key in self._keys[name]
            }
