"""A beam, piece by piece, over a language of five pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from turia.engine.backend import Steps
from turia.engine.beam import BeamSearch, Hypothesis
from turia.engine.choosing import NO_NUMBERS
from turia.engine.steering import ScoredRow
from turia.errors import ModelError

CAN, CAN_, CHANGE, FIND, T = 10, 11, 12, 13, 14
"""*can*; what *can't* begins with; *change*; *find*; and what *can't* ends with."""
AFTER = {None: {CAN: 0.45, CAN_: 0.40}, CAN: {CHANGE: 0.5, FIND: 0.45}, CAN_: {T: 1.0}}
"""What may follow, and how likely it is."""


class Rules:
    """Every piece but one ends a word, and everything may follow."""

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Any:
        return np.zeros(20, dtype=bool)

    def word_ends(self, pieces: Sequence[int]) -> list[int]:
        return [place for place, piece in enumerate(pieces, start=1) if piece != CAN_]

    def steer(self, rows: Sequence[ScoredRow]) -> Any:
        return [row.logits for row in rows]
        yield  # a generator that asks for nothing


def logits(after: int | None) -> Any:
    scores = np.full(20, -30.0, dtype=np.float32)
    for piece, probability in AFTER[after].items():
        scores[piece] = np.log(probability)
    return scores


@pytest.mark.parametrize(("one_word", "found"), [(True, (CAN, CHANGE)), (False, (CAN_, T))])
def test_one_word_is_the_one_that_most_of_the_probability_lies_on(one_word: bool, found: tuple[int, ...]) -> None:
    # *can't* is 0.40 in two pieces, *can change* 0.23 and *can find* 0.20: but *can* is 0.45.
    search = BeamSearch(Rules(), 4, cast(Any, None), 1, most=2, one_word=one_word)
    assert result_of(search.best(Hypothesis((), (), (), cast(Any, None), logits(None)))).pieces == found


@pytest.mark.filterwarnings("ignore:invalid value")
def test_scores_that_are_no_numbers_are_refused() -> None:
    search = BeamSearch(Rules(), 4, cast(Any, None), 1, most=2)
    damaged = Hypothesis((), (), (), cast(Any, None), np.full(20, np.nan, dtype=np.float32))
    with pytest.raises(ModelError, match=NO_NUMBERS):
        next(search.best(damaged))


def result_of(steps: Steps[Hypothesis]) -> Hypothesis:
    """What a search returns whose requests are answered from the table."""
    requests = cast(Any, next(steps))
    while True:
        pieces = [int(request.ids[-1]) for request in requests]
        try:
            requests = steps.send([(None, logits(piece if piece in AFTER else CAN)) for piece in pieces])
        except StopIteration as end:
            return cast(Hypothesis, end.value)
