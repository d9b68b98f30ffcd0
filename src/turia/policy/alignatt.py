"""AlignAtt (Papi et al. 2023): a word whose source is among the last words heard may change with the next ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.schema import Positive


@dataclass(frozen=True)
class AlignAtt(LookingPolicy):
    """Commits the draft up to the first word whose most attended source word is among the last f that were read."""

    name: ClassVar[str] = "alignatt"
    movable: ClassVar[bool] = True
    attention: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    f: Positive = 2
    layer: int | None = None

    def moved(self, steps: int) -> AlignAtt:
        """Another f."""
        return replace(self, f=max(1, self.f + steps))

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """Words before the first one that is aligned with the last f source words."""
        for number, word in enumerate(draft.words):
            assert word.attention is not None
            if int(word.attention.argmax()) >= at.read - self.f:
                return number
        return len(draft.words)
