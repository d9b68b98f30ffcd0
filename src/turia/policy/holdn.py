"""Hold-n (Liu et al. 2020): the last words of a draft are the ones that more source may still change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.schema import Natural


@dataclass(frozen=True)
class HoldN(LookingPolicy):
    """Commits the draft but for its last n words."""

    name: ClassVar[str] = "hold-n"
    movable: ClassVar[bool] = True
    n: Natural = 3

    def moved(self, steps: int) -> HoldN:
        """Another n."""
        return replace(self, n=max(0, self.n + steps))

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """All but the last n words."""
        return max(0, len(draft.words) - self.n)
