"""Learning rates and batch sizes at chosen steps, computed by hand."""

from __future__ import annotations

import pytest

from turia.config import Training
from turia.training.schedule import batch_tokens, learning_rate


def test_the_papers_schedule() -> None:
    paper = Training(learning_rate=5e-4, warmup_steps=4000, steps=500_000)
    assert learning_rate(paper, 1, 0.0) == pytest.approx(5e-4 / 4000)
    assert learning_rate(paper, 2000, 0.0) == pytest.approx(2.5e-4)
    assert learning_rate(paper, 4000, 0.0) == pytest.approx(5e-4)
    assert learning_rate(paper, 16_000, 0.0) == pytest.approx(2.5e-4)


def test_linear_holds_and_cools_down_to_zero() -> None:
    training = Training(learning_rate=1e-3, warmup_steps=10, schedule="linear", cooldown=0.5, steps=100)
    assert learning_rate(training, 5, 0.05) == pytest.approx(5e-4)
    assert learning_rate(training, 40, 0.4) == pytest.approx(1e-3)
    assert learning_rate(training, 75, 0.75) == pytest.approx(5e-4)
    assert learning_rate(training, 100, 1.0) == 0.0
    assert learning_rate(training, 101, 1.01) == 0.0


def test_fixed_is_fixed() -> None:
    training = Training(learning_rate=4.47e-5, schedule="fixed", steps=10)
    assert {learning_rate(training, step, step / 10) for step in range(1, 11)} == {4.47e-5}


def test_batches_grow() -> None:
    training = Training(batch_tokens_start=1000, batch_tokens=4000, batch_growth_steps=300)
    assert [batch_tokens(training, step) for step in (0, 100, 300, 900)] == [1000, 2000, 4000, 4000]
    assert batch_tokens(Training(batch_tokens=4000), 0) == 4000
