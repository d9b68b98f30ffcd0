"""Hold-n keeps all of a draft but its last n words."""

from __future__ import annotations

import pytest

from turia.policy.base import Draft, DraftWord, Situation
from turia.policy.holdn import HoldN


@pytest.mark.parametrize(("n", "kept"), [(0, 4), (1, 3), (3, 1), (4, 0), (9, 0)])
@pytest.mark.parametrize("complete", [False, True])
def test_the_last_n_words_are_held_back(n: int, kept: int, complete: bool) -> None:
    draft = Draft(tuple(DraftWord(word, (1,), -0.5, -0.5) for word in "abcd"), complete)
    assert HoldN(n).keep(Situation(read=6, written=2), draft, {}) == kept
