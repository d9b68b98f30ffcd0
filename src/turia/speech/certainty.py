"""How sure a recogniser was of its words: the share of them that were likelier than not.

Speech in another language turns into common words. Many of them are likely by themselves, which lifts a mean of the
probabilities, also a geometric one; but about half are guesses (docs/speech.md#how-it-works).
"""

from __future__ import annotations

from collections.abc import Iterable

SURE = 0.5
"""Probability of a word that is no guess."""


class Certainty:
    """A running share."""

    def __init__(self) -> None:
        self.words = 0
        self.sure = 0

    def add(self, probabilities: Iterable[float]) -> None:
        for probability in probabilities:
            self.words += 1
            self.sure += probability >= SURE

    @property
    def share(self) -> float | None:
        """0 to 1; None without words."""
        return self.sure / self.words if self.words else None
