"""A process alone is the leader of itself; test_elastic.py has several."""

from __future__ import annotations

import pytest
import torch

from turia.training.distributed import Ranks, device_here, leads_here, ranks


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with ranks() as alone:
        assert (alone.rank, alone.world, alone.leads) == (0, 1, True)
        assert alone.sum(2.5) == alone.from_leader(2.5) == 2.5
        alone.wait()
    assert not torch.distributed.is_initialized()


def test_each_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert device_here() == torch.device("cpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert device_here() == torch.device("cuda", 3)
    monkeypatch.delenv("LOCAL_RANK")
    assert device_here() == torch.device("cuda", 0)


@pytest.mark.parametrize(
    ("environment", "leads"),
    [({}, True), ({"WORLD_SIZE": "2", "RANK": "0"}, True), ({"WORLD_SIZE": "2", "RANK": "1"}, False)],
)
def test_who_leads_is_known_outside_too(
    environment: dict[str, str], leads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert leads_here() is leads


def test_one_process_leads() -> None:
    device = torch.device("cpu")
    assert [Ranks(rank, 3, device).leads for rank in range(3)] == [True, False, False]
