"""Shares of the peak learning rate, and batch sizes, at chosen steps, computed by hand."""

from __future__ import annotations

import pytest

from turia.config import Training
from turia.training.schedule import batch_tokens, rate_share


def test_the_papers_schedule() -> None:
    paper = Training(learning_rate=5e-4, warmup_steps=4000, steps=500_000)
    assert rate_share(paper, 1, 0.0) == pytest.approx(1 / 4000)
    assert rate_share(paper, 2000, 0.0) == pytest.approx(0.5)
    assert rate_share(paper, 4000, 0.0) == pytest.approx(1.0)
    assert rate_share(paper, 16_000, 0.0) == pytest.approx(0.5)


def test_linear_holds_and_cools_down_to_zero() -> None:
    training = Training(learning_rate=1e-3, warmup_steps=10, schedule="linear", cooldown=0.5, steps=100)
    assert rate_share(training, 5, 0.05) == pytest.approx(0.5)
    assert rate_share(training, 40, 0.4) == pytest.approx(1.0)
    assert rate_share(training, 75, 0.75) == pytest.approx(0.5)
    assert rate_share(training, 100, 1.0) == 0.0
    assert rate_share(training, 101, 1.01) == 0.0


def test_fixed_is_fixed() -> None:
    training = Training(learning_rate=4.47e-5, schedule="fixed", steps=10)
    assert {rate_share(training, step, step / 10) for step in range(1, 11)} == {1.0}


def test_batches_grow() -> None:
    training = Training(batch_tokens_start=1000, batch_tokens=4000, batch_growth_steps=300)
    assert [batch_tokens(training, step) for step in (0, 100, 300, 900)] == [1000, 2000, 4000, 4000]
    assert batch_tokens(Training(batch_tokens=4000), 0) == 4000
