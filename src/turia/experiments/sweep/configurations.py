"""One way to translate a test set: segmentation, policy, history, search; and the name of its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from turia.config import SweepRecipe, file_name
from turia.engine.settings import Encoding
from turia.policy.base import LookingPolicy, Policy
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.segmenter.online import Cut
from turia.text.glossary import Glossary


@dataclass(frozen=True)
class Configuration:
    """One way to translate a test set."""

    window: int | None
    """Future words of the segmenter; None is the reference segmentation, blocks, or none at all."""
    policy: Policy
    history: int
    encoding: Encoding = "incremental"
    recompute: bool = False
    beam: int = 1
    gamma: float | None = None
    block: int | None = None
    """Words after which the stream is cut, in place of sentences."""
    max_lag: int | None = None
    target_lag: str | None = None
    glossary: Glossary | None = None
    free: Cut | None = None
    """Without a segmenter: how the source is cut."""
    threshold: float | None = None
    """Of the segmenter, in place of its own."""

    @property
    def offline(self) -> bool:
        return isinstance(self.policy, Whole)

    @property
    def looks_at_attention(self) -> bool:
        """Whether the attention layer and head that are stored with the model play a part."""
        return isinstance(self.policy, LookingPolicy) and self.policy.attention

    @property
    def searches_drafts(self) -> bool:
        """Whether a beam searches drafts that end where the policy stops: these depend on how they are made."""
        return self.beam > 1 and isinstance(self.policy, LookingPolicy) and self.policy.stops

    @property
    def segments(self) -> str:
        """Of which sentences, for people."""
        if self.block is not None:
            return f"b{self.block}"
        if self.free is not None:
            return "free" if self.free == "attention" else f"free-{self.free}"
        if self.window is None:
            return "oracle"
        return f"w{self.window}" + ("" if self.threshold is None else f"p{self.threshold:g}")

    def name(self) -> str:
        """The name of its folder."""
        parts = [self.segments, self._policy_name(), f"h{self.history}"]
        if self.encoding == "full":
            parts.append("full")
        if self.recompute:
            parts.append("recompute")
        if self.beam > 1:
            parts.append(f"beam{self.beam}")
        if self.gamma is not None:
            parts.append(f"gamma{self.gamma:g}")
        if self.max_lag is not None:
            parts.append(f"lag{self.max_lag}")
        if isinstance(self.policy, WaitK) and self.policy.rounding == "ceil":
            parts.append("ceil")
        if self.target_lag is not None:
            parts.append(f"target{self.target_lag}")
        if self.glossary is not None:
            parts.append("terms")
        return "-".join(parts)

    def _policy_name(self) -> str:
        if self.offline:
            return "offline"
        if isinstance(self.policy, WaitK) and self.policy.gamma is None:
            return f"k{self.policy.k}"
        return file_name(str(self.policy))

    def as_json(self) -> dict[str, Any]:
        # What is newer than release 0.1 is left out where it is not used: what was translated before is still good.
        new = ("block", "max_lag", "target_lag", "glossary", "free", "threshold")
        newer = {name for name in new if getattr(self, name) is None}
        # Its digest tells one glossary from another.
        found = asdict(self) | {"policy": str(self.policy), "glossary": str(self.glossary)}
        return {name: value for name, value in found.items() if name not in newer}


def policies(recipe: SweepRecipe) -> list[Policy]:
    """The policies of a recipe: wait-k for each k, then those that it names."""
    named = [parse_policy(text) for text in recipe.policies]
    return [*(WaitK(k, rounding=recipe.rounding) for k in recipe.k), *named]
