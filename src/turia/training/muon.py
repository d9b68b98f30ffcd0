"""Muon (Jordan et al. 2024): the momentum of each matrix, orthogonalised, is its update.

All directions of a matrix then learn at one rate, where Adam's updates are dominated by a few. At equal pieces that
wins several tenths of a nat (docs/results.md). The price is five Newton-Schulz steps a matrix, which do not grow with
the batch; several processes share the matrices out among themselves.

Letters: a matrix is [N, K], N outputs and K inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_STEPS = 5
_TINY = 1e-7


@torch.no_grad()
def orthogonalise(matrices: Tensor, precision: torch.dtype = torch.float32) -> Tensor:
    """[M, N, K]: each matrix with its singular values moved to about 1 (0.7 to 1.2), by Newton-Schulz.

    The products are computed in `precision`. torch's own Muon always takes bfloat16, which few CPUs can multiply.
    """
    a, b, c = _COEFFICIENTS
    wide = matrices.shape[1] <= matrices.shape[2]
    x = matrices if wide else matrices.transpose(1, 2)
    x = (x / (torch.linalg.matrix_norm(x, keepdim=True) + _TINY)).to(precision)
    for _ in range(_STEPS):
        square = torch.bmm(x, x.transpose(1, 2))
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return (x if wide else x.transpose(1, 2)).to(matrices.dtype)


def matrices_of(model: nn.Module) -> dict[str, list[tuple[int, int]]]:
    """Muon's parameters by name, each with the rows [begin, end) of the matrices in it.

    These are the matrices of the layers. Keys and values lie in one parameter, and are two matrices.
    """
    found = {}
    for module_name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            rows = module.weight.shape[0]
            parts = 2 if module_name.endswith("key_value") else 1
            found[f"{module_name}.weight"] = [(i * rows // parts, (i + 1) * rows // parts) for i in range(parts)]
    return found


def share_out(costs: Sequence[int], world: int) -> list[int]:
    """Which process orthogonalises each matrix, such that all have about the same work: the dearest first."""
    loads = [0] * world
    owners = [0] * len(costs)
    for index in sorted(range(len(costs)), key=lambda index: -costs[index]):
        owners[index] = min(range(world), key=loads.__getitem__)
        loads[owners[index]] += costs[index]
    return owners


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, scaled by sqrt(max(1, N / K)). `rank` of `world` processes.

    Every process has the same gradients and keeps the momentum of all matrices, so that any of them can save it.
    """

    def __init__(
        self,
        parameters: Iterable[tuple[nn.Parameter, list[tuple[int, int]]]],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        rank: int = 0,
        world: int = 1,
        precision: torch.dtype = torch.float32,
    ) -> None:
        pairs = list(parameters)
        super().__init__([parameter for parameter, _ in pairs], {"lr": lr, "momentum": momentum, "decay": weight_decay})
        self.rank, self.world, self.precision = rank, world, precision
        blocks = [(parameter, begin, end) for parameter, parts in pairs for begin, end in parts]
        owners = share_out([_cost(end - begin, parameter.shape[1]) for parameter, begin, end in blocks], world)
        self._shares: list[list[tuple[nn.Parameter, int, int]]] = [
            [block for block, owner in zip(blocks, owners, strict=True) if owner == process] for process in range(world)
        ]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Momentum for all, orthogonal updates of this process's share, and everybody's updates into the weights."""
        assert closure is None
        group = self.param_groups[0]
        towards: dict[nn.Parameter, Tensor] = {}
        for parameter in group["params"]:
            state = self.state[parameter]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(parameter)
            state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
            towards[parameter] = torch.lerp(parameter.grad, state["momentum"], group["momentum"])
            parameter.mul_(1 - group["lr"] * group["decay"])
        own = self._shares[self.rank]
        # Before anything is sent: whoever waited for the others' updates first would work when they have finished.
        mine = _orthogonal([towards[parameter][begin:end] for parameter, begin, end in own], self.precision)
        for process, share in enumerate(self._shares):
            if not share:
                continue
            sizes = [(end - begin) * parameter.shape[1] for parameter, begin, end in share]
            flat = mine if process == self.rank else torch.empty(sum(sizes), device=group["params"][0].device)
            if self.world > 1:
                dist.broadcast(flat, process)
            for (parameter, begin, end), update in zip(share, torch.split(flat, sizes), strict=True):
                rows, columns = end - begin, parameter.shape[1]
                scale = max(1.0, rows / columns) ** 0.5
                parameter[begin:end].add_(update.view(rows, columns), alpha=-group["lr"] * scale)


def _cost(rows: int, columns: int) -> int:
    """Products of one Newton-Schulz step."""
    short, long = sorted((rows, columns))
    return short * short * (2 * long + short)


def _orthogonal(updates: Sequence[Tensor], precision: torch.dtype) -> Tensor:
    """All of them orthogonalised, one after the other in one vector; those of one shape in one batch."""
    if not updates:  # more processes than matrices
        return torch.empty(0)
    by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for index, update in enumerate(updates):
        by_shape[tuple(update.shape)].append(index)
    done: dict[int, Tensor] = {}
    for indices in by_shape.values():
        together = torch.stack([updates[index] for index in indices])
        done |= zip(indices, orthogonalise(together, precision), strict=True)
    return torch.cat([done[index].reshape(-1) for index in range(len(updates))])
