"""What changes while a segmenter learns comes back from its one file, to the last random number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from turia.config import SegmenterModel, SegmenterTraining
from turia.errors import ConfigError, ModelError
from turia.training.segmenter.learner import Learner
from turia.training.segmenter.network import Network

MADE_WITH: dict[str, Any] = {"language": "de", "model": {"hidden": 8}}


def learner(seed: int = 1, made_with: dict[str, Any] = MADE_WITH) -> Learner:
    torch.manual_seed(seed)
    network = Network(SegmenterModel(windows=(0, 2), embedding=8, hidden=8, feed_forward=8), 20)
    return Learner(network, SegmenterTraining(patience=0), seed, 0.4, made_with)


def learn(one: Learner) -> list[float]:
    """A step on chance, as the learner's own random numbers have it; what it leaves."""
    ids = torch.from_numpy(one.rng.integers(3, 20, (5, 13)))
    assert isinstance(one.network, Network)
    loss = one.network.logits(one.network.gru(one.network.embedding(ids))[0], 2).square().mean()
    one.optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    one.optimiser.step()
    one.schedule.step(0.0)
    one.epochs += 1
    return [loss.item(), one.rate, float(torch.rand(()))]


def test_a_learner_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    path, first = tmp_path / "run" / "newest.safetensors", learner()
    learn(first)
    first.best, first.thresholds = 0.7, {0: 0.3, 2: 0.6}
    first.save(path)
    undisturbed = [learn(first) for _ in range(3)]

    second = learner(seed=2)
    second.restore(path)
    assert (second.epochs, second.best, second.thresholds) == (1, 0.7, {0: 0.3, 2: 0.6})
    assert [learn(second) for _ in range(3)] == undisturbed
    for name, tensor in first.network.state_dict().items():
        assert torch.equal(tensor, second.network.state_dict()[name])


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newest.safetensors"
    learner().save(path)
    with pytest.raises(ConfigError, match="was begun with another language; choose another run folder, or --fresh"):
        learner(made_with={**MADE_WITH, "language": "en"}).restore(path)


def test_a_damaged_file_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "newest.safetensors"
    learner().save(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelError, match=r"cannot be read: .*; remove it, or --fresh to start over"):
        learner().restore(path)
