"""Names, spelt as they were said.

A small model writes rare names piece by piece, and often wrong: *Kolawska* for *Kowalska*. So a word that the target
language does not have is compared with what was said. If the sentence has a word that is nearly the same, and that may
be a name, it is written in place of the model's.

What may be a name shows in capitals inside a sentence: in what the model wrote or, where that is German, which writes
all nouns with a capital, in what was said. A word that the source language knows and the target language does not is no
name: it has a translation (*buddhism*). Names that both know (*hamburg*), or neither (*kowalska*), are copied.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST, LONGEST = 4, 32
"""Letters of a name: shorter words are alike by chance."""
FURTHEST = 0.45
"""Of the longer word's letters, how many may differ. Chosen on dev sets (docs/terms.md)."""
_CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages in which a capital does not tell a name."""
_WORD = re.compile(rf"([^\w]*)([^\W\d_]{{{SHORTEST},{LONGEST}}})([^\w]*)")
_BEFORE_A_SENTENCE = ".?!:;\"“”„«»‹›('‘’-–—"


@dataclass(frozen=True)
class SpokenNames:
    """What tells names from words, for one direction."""

    source_words: frozenset[str]
    target_words: frozenset[str]
    """Words that the languages have, in lower case."""
    languages: tuple[str, str]
    """Of source and target."""

    def is_doubtful(self, word: str) -> bool:
        """Whether a word of the translation is none of the target language: only such a one is looked at."""
        found = _WORD.fullmatch(word)
        return found is not None and found[2].lower() not in self.target_words

    def instead_of(self, word: str, before: Sequence[str], said: Sequence[str]) -> str | None:
        """What is to be written in place of a `word` that is doubtful; None if it stays.

        `before` are the words of the sentence's translation so far, `said` those of its source as they were given.
        """
        found = _WORD.fullmatch(word)
        assert found is not None
        own = _folded(found[2])
        written = {_folded(_letters(other)) for other in before}
        shown_here = self._tells_names(1) and found[2][0].isupper() and _is_inside(before)
        has_case = any(other[:1].islower() for other in said)
        nearest: tuple[int, str] | None = None
        for place, given in enumerate(said):
            name = _letters(given)
            folded = _folded(name)
            has_capital = has_case and name[:1].isupper()
            shown = shown_here or (self._tells_names(0) and has_capital and _is_inside(said[:place]))
            if folded == own:
                # It was copied; where it has other accents or, if these are known, other capitals, they are those said.
                as_said = has_capital or name.lower() != found[2].lower()
                if not shown or not as_said or found[2].isupper():
                    return None
                nearest = 0, name
                break
            if not shown or folded in written or folded[:1] != own[:1] or not self._may_be_name(name):
                continue
            most = int(FURTHEST * max(len(own), len(folded)))
            if abs(len(own) - len(folded)) <= most and (distance := _distance(own, folded)) <= most:
                nearest = min(nearest or (distance, name), (distance, name), key=lambda one: one[0])
        if nearest is None:
            return None
        name = nearest[1] if has_case and nearest[1][0].isupper() else nearest[1].capitalize()
        return None if name == found[2] else found[1] + name + found[3]

    def _tells_names(self, side: int) -> bool:
        """Whether a capital of that side's language tells a name."""
        return self.languages[side].partition("-")[0] not in _CAPITAL_NOUNS

    def _may_be_name(self, name: str) -> bool:
        low = name.lower()
        return len(low) >= SHORTEST and (low not in self.source_words or low in self.target_words)


def _letters(word: str) -> str:
    """A word without the marks around it; empty if it is not made of letters alone, or has too few or too many."""
    found = _WORD.fullmatch(word)
    return "" if found is None else found[2]


def _is_inside(before: Sequence[str]) -> bool:
    """Whether what follows these words is inside a sentence."""
    return bool(before) and before[-1][-1:] not in _BEFORE_A_SENTENCE


def _folded(word: str) -> str:
    """In lower case, without accents: a model that spells wrong loses them first."""
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _distance(one: str, other: str) -> int:
    """Letters that are to be replaced, put in or left out, to make one word of the other."""
    row = list(range(len(other) + 1))
    for count, letter in enumerate(one, start=1):
        above, row = row, [count]
        for place, there in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (letter != there)))
    return row[-1]
