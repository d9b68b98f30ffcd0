"""Adaptive wait-k (Zheng et al. 2020): one multi-k model, whose lag is the k that fits the moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar

from turia.errors import ConfigError
from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.policy.waitk import MOST_WORDS, Lead
from turia.schema import Share


@dataclass(frozen=True)
class Adaptive(LookingPolicy):
    """Writes a word if it is probable enough; the longer the lag, the less probable it has to be."""

    name: ClassVar[str] = "adaptive"
    movable: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    k_min: Lead = 2
    """Below this lag nothing is written."""
    k_max: Lead = 8
    """At this lag a word is written, however improbable."""
    rho_min: Share = 0.3
    """The probability that is asked for at k_max."""
    rho_max: Share = 0.9
    """The probability that is asked for at k_min."""

    def __post_init__(self) -> None:
        if self.k_min > self.k_max:
            raise ConfigError(f"k_min is {self.k_min}, more than k_max, {self.k_max}")
        if self.rho_min > self.rho_max:
            raise ConfigError(f"rho_min is {self.rho_min}, more than rho_max, {self.rho_max}")

    def moved(self, steps: int) -> Adaptive:
        """Other lags, as far apart."""
        steps = min(max(steps, 1 - self.k_min), MOST_WORDS - self.k_max)
        return replace(self, k_min=self.k_min + steps, k_max=self.k_max + steps)

    def wants_draft(self, at: Situation) -> bool:
        """Not below the smallest lag."""
        return at.lag >= self.k_min

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """Words before the first one that is not probable enough at its lag."""
        for number, word in enumerate(draft.words):
            lag = Situation(at.read, at.written + number, at.gamma).lag
            if lag < self.k_min or (lag < self.k_max and exp(word.first_log_probability) < self.threshold(lag)):
                return number
        return len(draft.words)

    def threshold(self, lag: float) -> float:
        """Falls linearly from rho_max at k_min to rho_min at k_max."""
        if self.k_min == self.k_max:
            return self.rho_min
        share = (lag - self.k_min) / (self.k_max - self.k_min)
        return self.rho_max + share * (self.rho_min - self.rho_max)
