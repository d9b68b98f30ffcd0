"""Adaptive computation time (Schneider and Waibel 2020; the KIT system of IWSLT 2020 within a sentence): each word that
is read adds to the probability that enough has been read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from turia.policy.base import Heads, LearnedPolicy, Memory, Situation, State, TargetRow
from turia.schema import BelowOne, NotNegative


@dataclass(frozen=True)
class Act(LearnedPolicy):
    """Adds up the halting probabilities of the words read since the last write, and writes when they reach
    1 - epsilon. The last word read counts again for the next target word: so several may be written after one READ."""

    name: ClassVar[str] = "act"
    lag_cost: NotNegative = 0.2
    """What a word of lag cost in the training of the head (the paper's lambda), in nats: more is sooner."""
    epsilon: BelowOne = 0.1

    def head_names(self) -> tuple[str, ...]:
        """One for each lag cost."""
        return (self._head,)

    @cached_property
    def _head(self) -> str:
        return halting_head(self.lag_cost)

    def may_write(self, at: Situation, source: State, target: TargetRow, heads: Heads, memory: Memory) -> bool:
        """Whether the probabilities have come to 1 - epsilon."""
        probability = heads[self._head]((source, target.state), at.lag, target.sureness())
        total: float = memory.get("sum", 0.0) + probability
        halts = total >= 1 - self.epsilon
        memory["sum"] = 0.0 if halts else total
        return halts

    def overrule(self, memory: Memory) -> None:
        """What was added up was for the word that is written now."""
        memory["sum"] = 0.0


def halting_head(lag_cost: float) -> str:
    """Has enough been read for the next word? From the states of both sides, the encoder's first; the lag; and how
    sure the model is of the next piece. So a head can do what wait-k does, and what `adaptive` does, and more."""
    return f"act-{lag_cost:g}"
