"""How sure a recogniser was of its words: the share of them that were likelier than not.

Speech in another language turns into common words. Many of them are likely by themselves, which lifts a mean of the
probabilities, also a geometric one; but about half are guesses. Some are said again and again, and each time they are
likelier, as the recogniser has read them in its own text: a phrase that is repeated is as sure as it was the time
before, at most (docs/speech.md#how-it-works).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

SURE = 0.5
"""Probability of a word that is no guess."""
PHRASE = 3
"""Words in a row that are a phrase."""
REMEMBERED = 40
"""Words, among which a phrase is looked for."""


class Certainty:
    """A running share."""

    def __init__(self) -> None:
        self.words = 0
        self.sure = 0
        self._last: deque[tuple[str, bool]] = deque(maxlen=REMEMBERED)
        """Words without capitals and marks, and whether they were sure."""

    def add(self, words: Iterable[tuple[str, float]]) -> None:
        """Words and their probabilities."""
        for text, probability in words:
            word = "".join(filter(str.isalnum, text)).casefold()
            is_sure = probability >= SURE and self._was_sure(word)
            self._last.append((word, is_sure))
            self.words += 1
            self.sure += is_sure

    def _was_sure(self, word: str) -> bool:
        """Whether the word was sure at the end of the same phrase before; yes if there was none."""
        texts = [text for text, _ in self._last] + [word]
        phrase = texts[-PHRASE:]
        for end in range(len(texts) - 1, PHRASE - 1, -1):
            if texts[end - PHRASE : end] == phrase:
                return self._last[end - 1][1]
        return True

    @property
    def share(self) -> float | None:
        """0 to 1; None without words."""
        return self.sure / self.words if self.words else None
