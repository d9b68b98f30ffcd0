"""What can be chosen for a stream. All of it may change while the stream runs, from the next sentence on."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Literal

from turia.config import MOST_HYPOTHESES
from turia.errors import ConfigError
from turia.policy.waitk import Rounding

Encoding = Literal["incremental", "full"]
MOST_WORDS = 1_000_000
"""More than any speech has; of k and of the history alike."""
LONGEST_WORD = 40
"""Pieces of a target word; a longer one is ended by force. So much room the model has left whenever one is begun, and
no further may a beam look ahead."""
LEAST_POSITIONS = 2 * (LONGEST_WORD + 2)
"""Of a model: half of them may be history."""


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
    """`incremental` keeps encoder states; `full` encodes the window again at each READ, with all words seeing all if
    the encoder is no unidirectional one."""
    recompute: bool = False
    """Decoder states of words already written are computed again with all the source read since (the authors' way)."""
    beam: int = 1
    """Hypotheses of the speculative beam; 1 is greedy (Eq. 1)."""
    lookahead: int = 3
    """Pieces that the speculative beam looks ahead while the sentence is still being spoken."""

    def __post_init__(self) -> None:
        for name, least, most in _RANGES:
            value = getattr(self, name)
            try:
                # Whole numbers of numpy too; true and false are none, though Python takes them for 1 and 0.
                number = None if isinstance(value, bool) else index(value)
            except TypeError:
                number = None
            if number is None or not least <= number <= most:
                raise ConfigError(f"{name} is {value!r}, expected a whole number from {least} to {most}")
            object.__setattr__(self, name, number)
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float) or not 0.1 <= self.gamma <= 10:
            raise ConfigError(f"gamma is {self.gamma!r}, expected 0.1 to 10")
        if self.rounding not in ("floor", "ceil"):
            raise ConfigError(f"rounding is {self.rounding!r}, expected 'floor' or 'ceil'")
        if self.encoding not in ("incremental", "full"):
            raise ConfigError(f"encoding is {self.encoding!r}, expected 'incremental' or 'full'")
        if not isinstance(self.recompute, bool):
            raise ConfigError(f"recompute is {self.recompute!r}, expected True or False")


_RANGES = (
    ("k", 1, MOST_WORDS),
    ("history", 0, MOST_WORDS),
    ("beam", 1, MOST_HYPOTHESES),
    ("lookahead", 1, LONGEST_WORD),
)
