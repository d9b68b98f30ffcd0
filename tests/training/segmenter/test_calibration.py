"""Thresholds by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from turia.training.segmenter.calibration import FARTHEST, falling_thresholds, shift_prior


def test_the_prior_is_put_right() -> None:
    # Bayes: odds 1 at a share of 1/2 are odds 1/9 at a share of 1/10.
    assert shift_prior(np.array([0.5]), 0.5, 0.1).tolist() == pytest.approx([0.1])
    there = shift_prior(np.array([0.0, 0.3, 1.0]), 0.3, 0.05)
    assert shift_prior(there, 0.05, 0.3).tolist() == pytest.approx([0.0, 0.3, 1.0])


def test_thresholds_before_the_limit_are_those_of_optimal_stopping() -> None:
    # Probabilities 0 and 1 with equal chance 1/2: v = 0, 1/2, 3/4, 7/8, ...
    coin = np.array([0.0, 1.0])
    assert falling_thresholds(coin, 0.9, 0.3, 0.3) == pytest.approx((0.0, 0.5, 0.75, 0.875))
    assert falling_thresholds(coin, 0.4, 0.3, 0.3) == (0.0,)
    # Where no word is likely enough, the values stop rising below the threshold.
    assert falling_thresholds(np.array([0.2]), 0.9, 0.3, 0.3) == pytest.approx((0.0, 0.2))


def test_a_threshold_that_no_word_reaches_takes_no_more_steps_than_are_of_use() -> None:
    falling = falling_thresholds(np.linspace(0, 0.4, 5000), 0.5, 0.3, 0.3)
    assert len(falling) == FARTHEST
    assert all(before < after < 0.4 for before, after in pairwise(falling))
