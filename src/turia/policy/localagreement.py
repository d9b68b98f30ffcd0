"""Local agreement (Liu et al. 2020, Polák et al. 2022): words on which successive drafts agree will hardly change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.schema import Positive


@dataclass(frozen=True)
class LocalAgreement(LookingPolicy):
    """Commits the longest common prefix, in words, of the last n drafts."""

    name: ClassVar[str] = "local-agreement"
    movable: ClassVar[bool] = True
    n: Positive = 2

    def moved(self, steps: int) -> LocalAgreement:
        """Another n."""
        return replace(self, n=max(1, self.n + steps))

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """Words after the committed ones that the last n drafts have in common; none before there are n drafts."""
        # Each draft is kept as the sentence it would make, so that drafts made at other times can be compared.
        committed: list[str] = memory.get("committed", [])
        sentences = [*memory.get("drafts", []), [*committed, *(word.text for word in draft.words)]][-self.n :]
        agreed = common_prefix(sentences) if len(sentences) == self.n else 0
        kept = max(0, agreed - at.written)
        memory["drafts"] = sentences
        memory["committed"] = [*committed, *(word.text for word in draft.words[:kept])]
        return kept

    def overrule(self, written: Sequence[str], memory: Memory) -> None:
        """The next draft follows these words. Drafts that have others there agree with it on none of its words."""
        memory["committed"] = list(written)


def common_prefix(sentences: list[list[str]]) -> int:
    """How many first words all of them have in common."""
    # Up to the shortest, and no further.
    same = [len(set(words)) == 1 for words in zip(*sentences, strict=False)]
    return same.index(False) if False in same else len(same)
