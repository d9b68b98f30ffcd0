"""LocalAgreement-2: of a sound that is decoded again as it grows, words are settled on which two decodings agree.

After Polák et al. 2022 and Macháček et al. 2023 (whisper_streaming). Words are compared by their letters, without case
and punctuation. The last word of a decoding is not settled, as the sound may end inside it. A decoding may have other
words where some are settled already: what follows them is found by the smallest edit distance. Where a sound is cut in
two, words of the second half may be settled already; they are not settled twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DecodedWord:
    """A word of a decoding. Times are seconds from the beginning of the sound that was decoded."""

    text: str
    start: float
    end: float
    probability: float


class Agreement:
    """Decodings of one growing sound in, settled words out."""

    def __init__(self, settled: Sequence[str] = ()) -> None:
        """`settled` are the letters of the words with which the sound begins, and which are settled already."""
        self.open: list[DecodedWord] = []
        """What the last decoding has after the settled words."""
        self._settled = list(settled)

    @property
    def settled(self) -> int:
        """How many words of the sound are settled."""
        return len(self._settled)

    def push(self, words: Sequence[DecodedWord]) -> list[DecodedWord]:
        """A decoding; gives the words that it settles."""
        rest = self._after_settled(words)
        common = 0
        for old, new in zip(self.open, rest[:-1], strict=False):
            if letters(old.text) != letters(new.text):
                break
            common += 1
        return self._settle(rest, common)

    def settle_all(self, words: Sequence[DecodedWord]) -> list[DecodedWord]:
        """A decoding at a pause or at the end: all of it is settled."""
        rest = self._after_settled(words)
        return self._settle(rest, len(rest))

    def after_cut(self, words: Sequence[DecodedWord]) -> tuple[list[DecodedWord], Agreement]:
        """A decoding of the first half of a sound that is cut: what it settles, and the agreement of the other half."""
        covered = matching_prefix([letters(word.text) for word in words], self._settled)
        following = Agreement(self._settled[covered:])
        return self.settle_all(words), following

    def _after_settled(self, words: Sequence[DecodedWord]) -> Sequence[DecodedWord]:
        return words[matching_prefix(self._settled, [letters(word.text) for word in words]) :]

    def _settle(self, rest: Sequence[DecodedWord], count: int) -> list[DecodedWord]:
        new, self.open = list(rest[:count]), list(rest[count:])
        self._settled += [letters(word.text) for word in new]
        return new


def matching_prefix(settled: Sequence[str], words: Sequence[str]) -> int:
    """How many of `words` say what `settled` says: those with the smallest edit distance to it.

    Of several, one that ends with the same word, and then the number nearest to that of the settled words.
    """
    # row[j]: edit distance between the settled words so far and the first j words.
    row = list(range(len(words) + 1))
    for said in settled:
        diagonal, row[0] = row[0], row[0] + 1
        for j, word in enumerate(words, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != said))

    def rank(j: int) -> tuple[int, bool, int]:
        return row[j], not (j and settled and words[j - 1] == settled[-1]), abs(j - len(settled))

    return min(range(len(row)), key=rank)


def letters(word: str) -> str:
    """A word as it is compared; one without letters and digits as it stands."""
    return "".join(filter(str.isalnum, word)).casefold() or word
