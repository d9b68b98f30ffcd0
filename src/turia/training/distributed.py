"""One process or many: what torchrun starts, seen through four small functions. All of them work without it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

# The others wait while the leader validates and saves; the libraries' ten minutes are less than that may take.
_PATIENCE = timedelta(hours=6)


@dataclass(frozen=True)
class Ranks:
    """This process among its peers."""

    rank: int
    world: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes files and talks to people."""
        return self.rank == 0

    def sum(self, value: float) -> float:
        """The sum of everybody's value."""
        if self.world == 1:
            return value
        total = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return float(total.item())

    def from_leader(self, value: float) -> float:
        """The leader's value, for what must be the same everywhere (clocks differ)."""
        return self.sum(value if self.leads else 0.0)

    def wait(self) -> None:
        """Until all have come here."""
        if self.world > 1:
            dist.barrier()


def device_here() -> torch.device:
    """The GPU that torchrun gives to this process and to those that it starts; without torchrun the first one. The CPU
    where there is no GPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def leads_here() -> bool:
    """Whether this process leads, for those who are outside of `ranks`."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


@contextmanager
def ranks() -> Iterator[Ranks]:
    """This process's rank, from torchrun's environment; alone without it. GPUs by NCCL, CPUs by gloo."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    device = device_here()
    gpu = device.type == "cuda"
    if gpu:
        torch.cuda.set_device(device)
    if world == 1:
        yield Ranks(0, 1, device)
        return
    dist.init_process_group("nccl" if gpu else "gloo", timeout=_PATIENCE, device_id=device if gpu else None)
    try:
        yield Ranks(dist.get_rank(), world, device)
    finally:
        dist.destroy_process_group()
