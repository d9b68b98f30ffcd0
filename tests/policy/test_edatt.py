"""EDAtt stops at the first word that has too much attention on the last words."""

from __future__ import annotations

import pytest

from tests.policy.drafts import draft
from turia.policy.base import Situation
from turia.policy.edatt import EDAtt

LOOKS = [[0.7, 0.1, 0.1, 0.0], [0.2, 0.4, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]]


@pytest.mark.parametrize(
    ("alpha", "words", "kept"), [(0.5, 1, 2), (0.3, 2, 1), (0.29, 2, 1), (0.31, 2, 2), (0.9, 2, 3), (0.0, 1, 0)]
)
def test_it_stops_where_the_last_words_have_alpha_of_the_attention(alpha: float, words: int, kept: int) -> None:
    assert EDAtt(alpha, words).keep(Situation(read=4, written=0), draft("abc", LOOKS), {}) == kept
