"""The vocabulary of the segmenter: ids of whole normalised words. The translator has subwords (subwords.py).

All rare words share one id. Telling them apart by their last letters was tried and gained nothing.

On disk: UTF-8 text, one entry a line; the number of the line, from 0, is the id. Reserved entries begin with `~`.
Normalisation removes that character from words, so no word can be taken for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from turia.errors import ModelError

BOUNDARY, UNHEARD, UNKNOWN = range(3)
"""A sentence boundary (also before and after the stream); a future word that has not come; a rare word."""
_RESERVED = ("~boundary", "~unheard", "~unknown")


class Vocabulary:
    """Ids of words; `len` is the number of ids."""

    def __init__(self, entries: Sequence[str]) -> None:
        if tuple(entries[: len(_RESERVED)]) != _RESERVED:
            raise ModelError(f"expected a segmenter vocabulary, whose first lines are {' '.join(_RESERVED)}")
        self.entries = tuple(entries)
        self._ids: dict[str, int] = {}
        for number, entry in enumerate(entries):
            if not entry or entry in self._ids:
                raise ModelError(f"line {number + 1}: {entry!r} is empty or there twice")
            self._ids[entry] = number

    def __len__(self) -> int:
        return len(self.entries)

    def id(self, word: str) -> int:
        """The id of a normalised word; never a boundary."""
        return self._ids.get(word, UNKNOWN)

    def save(self, path: Path) -> None:
        path.write_text("".join(f"{entry}\n" for entry in self.entries), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise ModelError(f"{path}: no such file; a segmenter needs its vocabulary") from None
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not UTF-8 at byte {error.start}") from error
        try:
            # Not splitlines: it also cuts at rarer separators.
            return cls(text.removesuffix("\n").split("\n"))
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from error

    @classmethod
    def learn(cls, counts: Mapping[str, int], words: int) -> Vocabulary:
        """The `words` most frequent words; equally frequent ones in the order of the alphabet."""
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([*_RESERVED, *ranked[:words]])
