"""Whole sentences are never written before they are closed."""

from __future__ import annotations

from turia.policy.base import Situation
from turia.policy.whole import Whole


def test_nothing_is_written_while_the_sentence_goes_on() -> None:
    assert not any(Whole().may_write(Situation(read, written)) for read in range(50) for written in range(50))
