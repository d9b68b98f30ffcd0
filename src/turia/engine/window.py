"""What a stream remembers: the finished sentence pairs that may still be history, and the sentence being spoken.

Only what can be used again is kept, so the memory of a stream does not grow with its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turia.stream.history import history_start
from turia.text.layout import Sentence, Window, lay_out


@dataclass
class Growing:
    """One side of a sentence, word by word, in pieces."""

    ids: list[int] = field(default_factory=list)
    pieces: list[int] = field(default_factory=list)

    def add(self, word: tuple[int, ...] | list[int]) -> None:
        """A word of these pieces; none, if it normalised to nothing."""
        self.ids += word
        self.pieces.append(len(word))

    @property
    def words(self) -> int:
        return len(self.pieces)

    def sentence(self) -> Sentence:
        return Sentence(np.array(self.ids, dtype=np.int64), np.array(self.pieces, dtype=np.int64))

    def to_json(self) -> dict[str, list[int]]:
        return {"ids": list(self.ids), "pieces": list(self.pieces)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Growing:
        """What `to_json` gave; anything else is a ValueError."""
        ids, pieces = list(data["ids"]), list(data["pieces"])
        if not all(type(number) is int and number >= 0 for number in ids + pieces) or sum(pieces) != len(ids):
            raise ValueError("expected the pieces of words, and how many each has")
        return cls(ids, pieces)


@dataclass
class History:
    """Finished pairs, oldest first, and whether the first of them began the stream."""

    source: list[Growing] = field(default_factory=list)
    target: list[Growing] = field(default_factory=list)
    from_start: bool = True

    def add(self, source: Growing, target: Growing) -> None:
        self.source.append(source)
        self.target.append(target)

    def skip(self) -> None:
        """A sentence that is no history, as it has no translation; if the stream began with it, no window does."""
        self.from_start = self.from_start and bool(self.source)

    def drop(self) -> None:
        """Forgets all pairs, because the last one would mislead what follows."""
        self.source, self.target, self.from_start = [], [], False

    def trim(self, words: int, positions: int) -> None:
        """Keeps the newest pairs that fit into `words` words (METHOD section 3) and `positions` positions a side."""
        start = history_start([side.words for side in self.source], [side.words for side in self.target], words)
        while start < len(self.source) and self.positions(start) > positions:
            start += 1
        if start:
            self.source, self.target, self.from_start = self.source[start:], self.target[start:], False

    def positions(self, start: int = 0) -> int:
        """Positions of the longer side from pair `start` on, closing symbols and the opening one included."""
        sides = (sum(len(pair.ids) + 1 for pair in side[start:]) for side in (self.source, self.target))
        return 1 + max(sides)

    def source_window(self, current: Growing, closing: int | None, opening: bool = True) -> Window:
        """The history and the sentence being spoken; `closing` is its closing symbol once it is complete."""
        sentences = [*(pair.sentence() for pair in self.source), current.sentence()]
        return lay_out(sentences, self.from_start, closing, opening)

    def target_sentences(self) -> list[Sentence]:
        return [pair.sentence() for pair in self.target]

    def to_json(self) -> dict[str, Any]:
        pairs = [[s.to_json(), t.to_json()] for s, t in zip(self.source, self.target, strict=True)]
        return {"pairs": pairs, "from_start": self.from_start}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> History:
        sides = [[Growing.from_json(pair[side]) for pair in data["pairs"]] for side in (0, 1)]
        if not isinstance(data["from_start"], bool) or not all(side.words for sentences in sides for side in sentences):
            raise ValueError("expected a history of sentences that have words")
        return cls(sides[0], sides[1], data["from_start"])
