"""What can be chosen for a stream. All of it may change while the stream runs, from the next sentence on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from turia.errors import ConfigError
from turia.policy.waitk import Rounding

Encoding = Literal["incremental", "full"]


@dataclass(frozen=True)
class Settings:
    """Latency and search of a stream."""

    k: int = 4
    """Words of lead."""
    gamma: float = 1.0
    """Target words per source word."""
    history: int = 60
    """Words of history on either side; 0 for none."""
    rounding: Rounding = "floor"
    encoding: Encoding = "incremental"
    """`incremental` keeps encoder states; `full` encodes the window again at each READ, all words seeing all."""
    recompute: bool = False
    """Decoder states of words already written are computed again with all the source read since (the authors' way)."""
    beam: int = 1
    """Hypotheses of the speculative beam; 1 is greedy (Eq. 1)."""
    lookahead: int = 6
    """Pieces that the speculative beam looks ahead while the sentence is still being spoken."""

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("history", 0), ("beam", 1), ("lookahead", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected at least {least}")
        if not 0.1 <= self.gamma <= 10:
            raise ConfigError(f"gamma is {self.gamma}, expected 0.1 to 10")
        if self.rounding not in ("floor", "ceil"):
            raise ConfigError(f"rounding is {self.rounding!r}, expected 'floor' or 'ceil'")
        if self.encoding not in ("incremental", "full"):
            raise ConfigError(f"encoding is {self.encoding!r}, expected 'incremental' or 'full'")
