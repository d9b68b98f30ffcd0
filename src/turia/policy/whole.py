"""Whole sentences: nothing is written until the sentence is closed. The offline bound of every other policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from turia.policy.base import CountingPolicy, Situation


@dataclass(frozen=True)
class Whole(CountingPolicy):
    """Reads the whole sentence, then writes all of its translation."""

    name: ClassVar[str] = "whole"

    def may_write(self, at: Situation) -> bool:
        """Never: the engine writes the translation when the sentence is closed."""
        return False
