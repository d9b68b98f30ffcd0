"""Chunks (RWTH; Bahar et al. 2020): reads until a piece of the sentence can be translated by itself, then writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from turia.policy.base import Heads, LearnedPolicy, Memory, Situation, State, TargetRow
from turia.schema import Natural, Share

OVER = 0.5
"""From this probability on, the target head ends a chunk."""


@dataclass(frozen=True)
class Chunk(LearnedPolicy):
    """Reads until the source head says that a chunk ended `delay` words ago, then writes until the target head says
    that its translation is complete: at least one word."""

    name: ClassVar[str] = "chunk"
    threshold: Share = 0.5
    """From this probability on, the source head ends a chunk: less is sooner."""
    delay: Natural = 2
    """Words that are read after the end of a chunk before it is decided (D)."""

    def head_names(self) -> tuple[str, ...]:
        """One for each side; both are trained for their delay."""
        return source_head(self.delay), target_head(self.delay)

    def wants_row(self, at: Situation, source: State, heads: Heads, memory: Memory) -> bool:
        """Whether a chunk of the source has ended."""
        memory["written"] = 0
        if at.read <= self.delay:
            return False
        return heads[source_head(self.delay)]((source,), at.lag) >= self.threshold

    def may_write(self, at: Situation, source: State, target: TargetRow, heads: Heads, memory: Memory) -> bool:
        """Until the translation of the chunk is complete."""
        written: int = memory["written"]
        if written and heads[target_head(self.delay)]((target.state,), at.lag) >= OVER:
            return False
        memory["written"] = written + 1
        return True


def source_head(delay: int) -> str:
    """Does a chunk end `delay` words before the last one? From the encoder state of the last word, and the lag."""
    return f"chunk-source-{delay}"


def target_head(delay: int) -> str:
    """Is the chunk's translation complete? From the decoder state of the row that would write, and the lag."""
    return f"chunk-target-{delay}"
