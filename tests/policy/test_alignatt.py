"""AlignAtt stops at the first word whose source is among the last f words."""

from __future__ import annotations

import pytest

from tests.policy.drafts import draft
from turia.policy.alignatt import AlignAtt
from turia.policy.base import Situation

# Words a, b, c look at source words 1, 2 and 4 of four.
LOOKS = [[0.7, 0.1, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]]


@pytest.mark.parametrize(("f", "kept"), [(1, 2), (2, 2), (3, 1), (4, 0), (9, 0)])
def test_it_stops_where_the_last_f_words_are_looked_at(f: int, kept: int) -> None:
    assert AlignAtt(f).keep(Situation(read=4, written=1), draft("abc", LOOKS), {}) == kept


def test_a_draft_that_looks_back_is_committed_whole() -> None:
    assert AlignAtt(1).keep(Situation(read=4, written=1), draft("ab", LOOKS[:2]), {}) == 2
