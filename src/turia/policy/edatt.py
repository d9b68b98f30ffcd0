"""EDAtt (Papi et al. 2022): attention to the last words heard shows that a word needs what comes after them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.schema import Positive, Share


@dataclass(frozen=True)
class EDAtt(LookingPolicy):
    """Commits the draft up to the first word with attention of alpha or more on the last source words."""

    name: ClassVar[str] = "edatt"
    movable: ClassVar[bool] = True
    attention: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    alpha: Share = 0.3
    words: Positive = 2
    """The last source words that count (the paper's lambda)."""
    layer: int | None = None

    def moved(self, steps: int) -> EDAtt:
        """Other last words that count; fewer than one there are not."""
        return replace(self, words=max(1, self.words + steps))

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """Words before the first one that looks at the end of what was read."""
        for number, word in enumerate(draft.words):
            assert word.attention is not None
            if float(word.attention[-self.words :].sum()) >= self.alpha:
                return number
        return len(draft.words)
