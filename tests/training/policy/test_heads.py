"""Heads: what they learn, and that the stored one says what the trained one says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from turia.config import HeadTraining
from turia.runtime.heads import PerceptronHead
from turia.training.policy.heads import (
    Perceptron,
    boundary_figures,
    halting_figures,
    halting_shares,
    stored_head,
    train_boundary_head,
    train_halting_head,
)
from turia.training.policy.states import Labelled, Lagged

CHOSEN = HeadTraining(hidden=8, epochs=40, batch=64, learning_rate=0.01)


def test_a_boundary_head_learns_what_shows_in_the_states() -> None:
    states = np.random.default_rng(1).normal(size=(600, 4)).astype(np.float32)
    data = Labelled(states, states[:, 1] > 0.3)
    figures = boundary_figures(train_boundary_head(data, CHOSEN, seed=1), data)
    assert figures["F1"] > 0.95
    assert 0.2 < figures["threshold"] < 0.8
    assert figures["share"] == pytest.approx(data.labels.mean())


def test_shares_add_what_each_word_read_contributes_and_the_rest_is_told_apart() -> None:
    probabilities = torch.tensor([[0.5, 0.125, 0.25, 0.9]])
    read = torch.tensor([[1, 2, 4, 9]])
    assert halting_shares(probabilities, read, torch.tensor([0])).tolist() == [[0.5, 0.125, 0.375, 0.0, 0.0]]
    # What begins at the second lag has one word to look at there, and two more at the third.
    assert halting_shares(probabilities, read, torch.tensor([1])).tolist() == [[0.0, 0.125, 0.5, 0.375, 0.0]]
    half = torch.tensor([[0.0, 0.0, 0.0, 0.5]])
    assert halting_shares(half, read, torch.tensor([3])).tolist() == [[0.0, 0.0, 0.0, 0.5, 0.5]]


@pytest.mark.parametrize("lag_cost", [0.05, 2.0])
def test_a_halting_head_waits_for_words_that_need_it_if_waiting_is_cheap(lag_cost: float) -> None:
    """Half of the words lose 3 nats unless four source words are read; a number in their states says which."""
    rng = np.random.default_rng(1)
    hard = rng.random(400) < 0.5
    lags = np.tile(np.array([1, 2, 4, 8]), (400, 1))
    # The last two numbers are the lag, and how sure the model is.
    states = np.stack([np.tile(hard[:, None], (1, 4)), lags, np.zeros_like(lags)], axis=2).astype(np.float16)
    losses = np.where(hard[:, None] & (lags < 4), 4.0, 1.0).astype(np.float32)
    data = Lagged(states, losses, lags, lags.astype(np.float32))
    figures = halting_figures(train_halting_head(data, lag_cost, CHOSEN, seed=1), data)
    loss, lag = figures["loss"], figures["lag"]
    assert figures["loss of wait-k"] == pytest.approx(np.interp(lag, [1, 2, 4, 8], losses.mean(axis=0)))
    if lag_cost < 1:
        assert loss < 1.3
        assert lag < 4.0
    else:
        assert lag < 1.5
        assert loss > 2.0


def test_the_stored_head_says_what_the_trained_one_says(tmp_path: Path) -> None:
    torch.manual_seed(2)
    head = Perceptron(514, 64)
    stored_head(head).save(tmp_path / "head.bin")
    stored = PerceptronHead.load(tmp_path / "head.bin", 514)
    values = 3 * torch.randn(200, 514)
    expected = torch.sigmoid(head(values)).tolist()
    assert min(expected) < 0.3
    assert max(expected) > 0.7
    assert [stored((each,)) for each in values.numpy()] == pytest.approx(expected, abs=1e-6)
