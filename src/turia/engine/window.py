"""What a stream remembers: the finished sentence pairs that may still be history, and the sentence being spoken.

Only what can be used again is kept, so the memory of a stream does not grow with its length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turia.engine.settings import Settings
from turia.policy.waitk import WaitK, words_needed
from turia.stream.history import history_start
from turia.text.layout import Sentence, Window, lay_out


@dataclass
class PartialSentence:
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

    def split(self, words: int) -> tuple[PartialSentence, PartialSentence]:
        """Its first words, and the rest."""
        place = sum(self.pieces[:words])
        first = PartialSentence(self.ids[:place], self.pieces[:words])
        return first, PartialSentence(self.ids[place:], self.pieces[words:])

    def sentence(self) -> Sentence:
        return Sentence(np.array(self.ids, dtype=np.int64), np.array(self.pieces, dtype=np.int64))

    def to_json(self) -> dict[str, list[int]]:
        return {"ids": list(self.ids), "pieces": list(self.pieces)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PartialSentence:
        """What `to_json` gave; anything else is a ValueError."""
        ids, pieces = list(data["ids"]), list(data["pieces"])
        if not all(type(number) is int and number >= 0 for number in ids + pieces) or sum(pieces) != len(ids):
            raise ValueError("expected the pieces of words, and how many each has")
        return cls(ids, pieces)


@dataclass
class History:
    """Finished pairs, oldest first, and whether the first of them began the stream."""

    source: list[PartialSentence] = field(default_factory=list)
    target: list[PartialSentence] = field(default_factory=list)
    reads: list[list[int]] = field(default_factory=list)
    """For each pair, the source words of its sentence that had been read when each of its target words was written."""
    from_start: bool = True
    flowing: bool = False
    """Whether nothing in the source says where a sentence ends (docs/decisions/036). Then more than a sentence may have
    been read when its words were written, and `reads` has one more number: what had been read at the separator."""

    def add(self, source: PartialSentence, target: PartialSentence, reads: list[int]) -> None:
        self.source.append(source)
        self.target.append(target)
        self.reads.append(reads)

    def skip(self) -> None:
        """A sentence that is no history, as it has no translation; if the stream began with it, no window does."""
        self.from_start = self.from_start and bool(self.source)

    def drop(self) -> None:
        """Forgets all pairs, because the last one would mislead what follows."""
        self.source, self.target, self.reads, self.from_start = [], [], [], False

    def trim(self, words: int, positions: int) -> None:
        """Keeps the newest pairs that fit into `words` words (METHOD section 3) and `positions` positions a side."""
        start = history_start([side.words for side in self.source], [side.words for side in self.target], words)
        while start < len(self.source) and self.positions(start) > positions:
            start += 1
        if start:
            self.source, self.target, self.reads = self.source[start:], self.target[start:], self.reads[start:]
            self.from_start = False

    def positions(self, start: int = 0) -> int:
        """Positions of the longer side from pair `start` on, closing symbols and the opening one included."""
        sides = (sum(len(pair.ids) + 1 for pair in side[start:]) for side in (self.source, self.target))
        return 1 + max(sides)

    def source_window(
        self, current: PartialSentence, closing: int | None, opening: bool = True, language: int | None = None
    ) -> Window:
        """The history and the sentence being spoken; `closing` is its closing symbol once it is complete."""
        sentences = [*(pair.sentence() for pair in self.source), current.sentence()]
        return lay_out(sentences, self.from_start, closing, opening, language, self.flowing)

    def target_sentences(self) -> list[Sentence]:
        return [pair.sentence() for pair in self.target]

    def first_blocks(self) -> list[int]:
        """Source words of each pair that had been read when its first target word was written."""
        return [reads[0] for reads in self.reads]

    def to_json(self) -> dict[str, Any]:
        pairs = [[s.to_json(), t.to_json()] for s, t in zip(self.source, self.target, strict=True)]
        return {"pairs": pairs, "reads": [list(reads) for reads in self.reads], "from_start": self.from_start}

    @classmethod
    def from_json(cls, data: dict[str, Any], wait_k: Settings | None = None, flowing: bool = False) -> History:
        """What `to_json` gave. Release 0.1 left out what had been read, which follows from its settings `wait_k`."""
        sides = [[PartialSentence.from_json(pair[side]) for pair in data["pairs"]] for side in (0, 1)]
        if not isinstance(data["from_start"], bool) or not all(side.words for sentences in sides for side in sentences):
            raise ValueError("expected a history of sentences that have words")
        if wait_k is None:
            reads = data["reads"]
        else:
            reads = [_wait_k_reads(source, target, wait_k) for source, target in zip(*sides, strict=True)]
        fits = len(reads) == len(sides[0]) and all(
            are_reads(counts, source, target, flowing) for counts, source, target in zip(reads, *sides, strict=True)
        )
        if not fits:
            raise ValueError("expected how much of each source sentence had been read at each target word")
        return cls(sides[0], sides[1], [list(counts) for counts in reads], data["from_start"], flowing)


def are_reads(reads: list[int], source: PartialSentence, target: PartialSentence, flowing: bool = False) -> bool:
    """Whether they can be the source words read at each target word: growing, at least 1, at most all. In a `flowing`
    history, at the separator too, and words after the sentence may have been read."""
    most = math.inf if flowing else source.words
    return (
        len(reads) == target.words + int(flowing)
        and all(type(count) is int and 1 <= count <= most for count in reads)
        and reads == sorted(reads)
    )


def _wait_k_reads(source: PartialSentence, target: PartialSentence, settings: Settings) -> list[int]:
    policy = settings.policy
    assert isinstance(policy, WaitK)
    needed = (words_needed(t, policy.k, settings.gamma, policy.rounding) for t in range(1, target.words + 1))
    return [min(count, source.words) for count in needed]
