"""Names, spelt as they were said.

A small model writes rare names piece by piece, and often wrong: *Kolawska* for *Kowalska*. So a word that is not in the
list of the target language is compared with what was said. If the sentence has a word that is nearly the same, and that
may be a name, it is written in place of the model's.

What may be a name shows in capitals inside a sentence: in what the model wrote or, where that is German, which writes
all nouns with a capital, in what was said. A word that the source language knows and the target language does not is no
name: it has a translation (*buddhism*). Names that both know (*hamburg*), or neither (*kowalska*), are copied.

The model's word stays where it is the other language's form of the word that was said: with an ending (*Stalinists* for
*Stalinisten*, *Obamas* for *Obama*), or as a part of a compound (*Schengenraum* for *Schengen*).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

SHORTEST, LONGEST = 4, 32
"""Letters of a name: shorter words are alike by chance."""
FURTHEST = 0.45
"""Of the longer word's letters, how many may differ. Chosen on dev sets (docs/terms.md)."""
MOST_SAID = 100
"""Words that are looked at: the last ones of a sentence that is longer than any segmenter lets it be."""
_CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages in which a capital does not tell a name."""
_WORD = re.compile(rf"([^\w]*)([^\W\d_]{{{SHORTEST},{LONGEST}}})((?:['’]s?)?[^\w]*)")
_TITLE = re.compile(r"[A-Z]\w{0,2}\.")
"""*Mr.*, *Dr.*, *St.*: their full stop ends no sentence."""
_BEFORE_A_SENTENCE = ".?!:;\"“”„«»‹›('‘’-–—"
_MARKS = _BEFORE_A_SENTENCE + ",)…"
_OF_NAMES = frozenset({"mc", "mac", "de", "di", "da", "du", "la", "le", "van", "von", "fitz"})
"""What a name may have before a capital inside it: *McAvoy*."""
_ENDINGS = {
    "de": "s es e n en er ern ers ist isten it iten ianer ianern ianers aner anern isch ische ischen ischer isches "
    "ismus ismen isierung isierungen ung ungen ien ie ik sche schen scher sches",
    "en": "s es er ers ist ists ite ites ian ians an ans ean eans ic ics ism isms ish ese y ies ia al ed ing "
    "isation isations ization izations",
}
"""Of words made from names and from each other. Other languages get no help: a few right words may be replaced."""
_STEM = 4
"""Letters that two forms of a word have in common, at least."""


class _Said(NamedTuple):
    """A word that was said."""

    text: str
    """Its letters alone; empty if it can be no name."""
    folded: str
    is_inside: bool
    """Whether it stands inside a sentence."""


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
        if found is None:
            return False
        low = found[2].lower()
        stems = (low.removesuffix(ending) for ending in self._endings(1) if low.endswith(ending))
        return low not in self.target_words and not any(
            len(stem) >= _STEM and stem in self.target_words for stem in stems
        )

    def instead_of(self, word: str, before: Sequence[str], said: Sequence[str]) -> str | None:
        """What is to be written in place of a `word` that is doubtful; None if it stays.

        `before` are the words of the sentence's translation so far, `said` those of its source as they were given.
        """
        found = _WORD.fullmatch(word)
        assert found is not None
        own = _folded(found[2])
        written = {_folded(_letters(other)) for other in before}
        shown_here = self._tells_names(1) and found[2][0].isupper() and _is_inside(before)
        has_case = self._has_case(said)
        heard = [_said(said, place) for place in range(max(0, len(said) - MOST_SAID), len(said))]
        for name in heard:
            if name.text and (name.folded == own or self._is_form_of(own, name.folded)):
                return None if name.folded != own else self._copied(found, name, has_case)
        nearest: tuple[int, str] | None = None
        for name in heard:
            shown_there = self._tells_names(0) and has_case and _is_name_like(name.text) and name.is_inside
            if not (shown_here or shown_there) or name.folded[:1] != own[:1] or name.folded in written:
                continue
            most = int(FURTHEST * max(len(own), len(name.folded)))
            if abs(len(own) - len(name.folded)) > most or not self._may_be_name(name.text):
                continue
            distance = _distance(own, name.folded, most)
            if distance <= most and (nearest is None or distance < nearest[0]):
                nearest = distance, name.text
        if nearest is None:
            return None
        name_text = nearest[1] if has_case and _is_name_like(nearest[1]) else nearest[1].capitalize()
        return found[1] + name_text + found[3]

    def _copied(self, found: re.Match[str], name: _Said, has_case: bool) -> str | None:
        """The word with the accents of the name that it copies. It loses capitals that neither has a reason for."""
        own = found[2]
        if own.lower() != name.text.lower() and own.lower() not in self.target_words:
            spelt = name.text if has_case and _is_name_like(name.text) else name.text.capitalize()
            return found[1] + spelt + found[3] if own[0].isupper() and not own.isupper() else None
        inner = next((place for place, letter in enumerate(own) if place and letter.isupper()), 0)
        if not inner or own.isupper() or own[:inner].lower() in _OF_NAMES:
            return None
        if not (has_case and name.text == name.text.capitalize()):
            return None
        return found[1] + name.text + found[3]

    def _is_form_of(self, own: str, said: str) -> bool:
        """Whether the model's word is a form of the one that was said, or a compound of it."""
        stem = 0
        while stem < min(len(own), len(said)) and own[stem] == said[stem]:
            stem += 1
        if stem < _STEM:
            return False
        ours, theirs = own[stem:], said[stem:]
        if not theirs:
            return ours in self._endings(1) or (len(ours) > 2 and ours in self.target_words)
        if not ours:
            # The name of a genitive. Longer rests are letters that the model has lost.
            return theirs == "s"
        # Endings may begin alike: Stalin-ists, Stalin-isten.
        return any(own[cut:] in self._endings(1) and said[cut:] in self._endings(0) for cut in range(_STEM, stem + 1))

    def _endings(self, side: int) -> frozenset[str]:
        return _ENDING_SETS.get(_language(self.languages[side]), frozenset())

    def _tells_names(self, side: int) -> bool:
        """Whether a capital of that side's language tells a name."""
        return _language(self.languages[side]) not in _CAPITAL_NOUNS

    def _has_case(self, said: Sequence[str]) -> bool:
        """Whether a capital says something in these words: a third of the known ones inside the sentence have none."""
        known = [word.strip(_MARKS) for word in said[1:] if _low(word) in self.source_words]
        return bool(known) and 3 * sum(word[0].islower() for word in known) >= len(known)

    def _may_be_name(self, name: str) -> bool:
        low = name.lower()
        return len(low) >= SHORTEST and (low not in self.source_words or low in self.target_words)


_ENDING_SETS = {language: frozenset(endings.split()) for language, endings in _ENDINGS.items()}


def _language(code: str) -> str:
    return code.partition("-")[0]


def _said(said: Sequence[str], place: int) -> _Said:
    text = _letters(said[place])
    return _Said(text, _folded(text), place > 0 and _is_inside(said[place - 1 : place]))


def _letters(word: str) -> str:
    """A word without the marks around it and the s of a genitive; empty if it is not made of letters alone, or has too
    few or too many."""
    found = _WORD.fullmatch(unicodedata.normalize("NFC", word[: 2 * LONGEST]))
    return "" if found is None else found[2]


def _low(word: str) -> str:
    """A word in lower case, without marks."""
    return word.strip(_MARKS).lower()


def _is_name_like(name: str) -> bool:
    """Whether its capitals are those of a name: not KOWALSKA."""
    return name[:1].isupper() and not name.isupper()


def _is_inside(before: Sequence[str]) -> bool:
    """Whether what follows these words is inside a sentence."""
    if not before:
        return False
    return before[-1][-1:] not in _BEFORE_A_SENTENCE or _TITLE.fullmatch(before[-1]) is not None


def _folded(word: str) -> str:
    """In lower case, without accents: a model that spells wrong loses them first."""
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _distance(one: str, other: str, most: int) -> int:
    """Letters that are to be replaced, put in or left out, to make one word of the other; any number above `most` if
    there are more."""
    row = list(range(len(other) + 1))
    for count, letter in enumerate(one, start=1):
        above, row = row, [count]
        for place, there in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (letter != there)))
        if min(row) > most:
            break
    return max(row[-1], min(row))
