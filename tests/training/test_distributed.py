"""A process alone is the leader of itself; test_elastic.py has several."""

from __future__ import annotations

import pytest
import torch

from turia.training.distributed import Ranks, ranks


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with ranks() as alone:
        assert (alone.rank, alone.world, alone.leads) == (0, 1, True)
        assert alone.sum(2.5) == alone.from_leader(2.5) == 2.5
        alone.wait()
    assert not torch.distributed.is_initialized()


def test_one_process_leads() -> None:
    device = torch.device("cpu")
    assert [Ranks(rank, 3, device).leads for rank in range(3)] == [True, False, False]
