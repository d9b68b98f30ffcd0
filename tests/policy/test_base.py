"""What all policies have: a situation to decide in, parameters, and a name that can be typed."""

from __future__ import annotations

import numpy as np
import pytest

from turia.policy.base import Situation, TargetRow, sureness
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole


def test_the_lag_counts_source_words_that_are_not_translated_yet() -> None:
    assert Situation(read=9, written=6).lag == 3
    assert Situation(read=9, written=6, gamma=1.5).lag == 5
    assert Situation(read=2, written=6).lag == -4


def test_parameters_that_are_not_set_are_left_out() -> None:
    assert WaitK(3).parameters() == {"k": 3, "rounding": "floor"}
    assert WaitK(3, 1.1).parameters() == {"k": 3, "gamma": 1.1, "rounding": "floor"}
    assert Whole().parameters() == {}


def test_a_policy_prints_as_people_type_it() -> None:
    assert str(WaitK(3, 1.1, "ceil")) == "wait-k:k=3,gamma=1.1,rounding=ceil"
    assert str(Whole()) == "whole"


@pytest.mark.parametrize("shift", [0.0, 200.0, -200.0])
def test_one_row_is_as_sure_as_it_is_among_others(shift: float) -> None:
    rng = np.random.default_rng(1)
    logits, forbidden = (3 * rng.normal(size=(20, 50)) + shift).astype(np.float32), rng.random(50) < 0.5
    rows = [TargetRow(logits[0], each, forbidden).sureness() for each in logits]
    assert rows == pytest.approx(sureness(logits, forbidden).tolist(), rel=1e-5)
    logits -= np.float32(shift)
    likeliest = np.exp(logits).max(axis=1, where=~forbidden, initial=0) / np.exp(logits).sum(axis=1)
    assert np.exp(rows) == pytest.approx(likeliest, rel=1e-4)
