"""A glossary at work in the search: pieces of a translation become likelier once its term has been read.

The search asks for the scores of the next piece, wherever it is in a hypothesis. If the words read so far have a term
whose translation is not there yet, the piece that would begin it gets a bonus, and each piece that goes on with it gets
a larger one. So the model still decides where in the sentence the term stands, and no search, policy or batch needs to
know of glossaries. What is in the translation already has no bonus any more, and a sentence without terms has the very
scores of the model.

All of it follows from the words read and the pieces written: a restored stream has the same bonuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from turia.engine.backend import Logits
from turia.engine.model import Model
from turia.engine.settings import LONGEST_WORD
from turia.errors import ConfigError
from turia.text.glossary import Glossary, Term
from turia.text.normalise import normalise_word
from turia.text.subwords import Flags, Subwords
from turia.text.symbols import CLOSING_IDS, UNK_ID, WORD_END

FORCED, BEGIN, GO_ON = 20.0, 5.0, 10.0
"""Bonuses, as log-probabilities before they are normalised: where attention is on the term, where it is less sure, and
for the rest of a translation. Chosen on a dev set (docs/terms.md)."""
BEGIN_BLIND = 2.0
"""Of a model that does not show its attention: whether the term's turn has come is not known."""
SURE = 0.35
"""Share of the attention on a term, if that is its top, at which the term's turn has come."""
_FREQUENT, _SHORT = 120, 4
"""Small words are so short, and among the first so many whole words, or the first hundredth, of a vocabulary."""
_OPTIONAL = 0.4
"""Of a bonus, for optional terms."""
_ENDINGS = ("", ",", ".", "?", "!", ";", ":", ")", "'s", "’s")
"""Marks are part of the word before them, and of its pieces."""

LONGEST_TERM = 100
"""Pieces of a translation that is gone on with."""
_MOST_SPELT = 256
"""Terms whose spellings a glossary remembers: twice what a sentence can have."""
_CAPITAL, _ENDING = 1.0, 0.1
"""What a spelling has less of a bonus for capitals and for marks that are not the glossary's."""
Pieces = tuple[int, ...]
Floats = npt.NDArray[np.float32]


class TermPieces:
    """The translations of a glossary in the pieces of a vocabulary."""

    def __init__(self, glossary: Glossary, subwords: Subwords) -> None:
        self.glossary, self.subwords = glossary, subwords
        for term in glossary.terms:
            _check_spelling(term, subwords)
        # Made when a term is met: a glossary has up to a thousand, each of them with dozens of spellings.
        self._spellings: dict[tuple[Term, bool], Spellings] = {}
        self.words = frozenset(word for term in glossary.terms for word in bare_target(term))
        """Of all translations, bare."""
        self.is_small = _small_words(subwords)
        """[V] words such as `the` and `of`, which may stand before a term."""

    def __deepcopy__(self, memo: object) -> TermPieces:
        return self

    def spellings(self, term: Term, first: bool) -> Spellings:
        """All ways to write the translation of a term; with a capital if it is the `first` of a sentence, unless the
        glossary says otherwise."""
        found = self._spellings.get((term, first))
        if found is None:
            if len(self._spellings) >= _MOST_SPELT:
                self._spellings.clear()
            found = self._spellings[term, first] = _spellings(term, first, self.subwords)
        return found


@lru_cache(maxsize=64)
def term_pieces(glossary: Glossary, subwords: Subwords) -> TermPieces:
    """The glossary in these pieces; a ConfigError names the first translation that they cannot spell."""
    return TermPieces(glossary, subwords)


def check_glossary(model: Model, glossary: Glossary | None) -> None:
    """That the model can spell all translations."""
    if glossary is not None:
        term_pieces(glossary, model.target_subwords)


Spellings = Mapping[Pieces, Mapping[int, float]]
"""The ways to write a translation: after the pieces of it that are written, the pieces that may follow, and what each
has less of a bonus. Capitals and marks that the glossary does not have are for the model to ask for."""


def _spellings(term: Term, first: bool, subwords: Subwords) -> Spellings:
    found: dict[Pieces, dict[int, float]] = {}
    for (*before, last), less in _capitals(term, first).items():
        # With the space first, marks are pieces of their own that follow.
        for ending in ("",) if subwords.space_first else _ENDINGS:
            words = (*before, last + ending)
            pieces = tuple(piece for word in words for piece in subwords.encode_word(word))
            here = less + (_ENDING if ending else 0.0)
            for place, piece in enumerate(pieces[: LONGEST_TERM + 1]):
                following = found.setdefault(pieces[:place], {})
                following[piece] = min(following.get(piece, here), here)
    return found


def _capitals(term: Term, first: bool) -> Mapping[tuple[str, ...], float]:
    """The words of a translation with the capitals that they may have, and what each way has less of a bonus."""
    given = term.target
    begun = given if term.exact else (_capital(given[0]), *given[1:])
    every = given if term.exact else tuple(map(_capital, given))
    return (
        {begun: 0.0, every: 0.0 if every == begun else _CAPITAL}
        if first
        else {every: _CAPITAL, begun: _CAPITAL, given: 0.0}
    )


def _check_spelling(term: Term, subwords: Subwords) -> None:
    for words in _capitals(term, first=False):
        for pieces in map(subwords.encode_word, words):
            if UNK_ID in pieces or len(pieces) >= LONGEST_WORD:
                raise ConfigError(
                    f"glossary: the model's subwords cannot spell {term.translation!r} (for {str(term)!r}); "
                    "leave the term out"
                )


def _capital(word: str) -> str:
    return word[0].upper() + word[1:]


def _small_words(subwords: Subwords) -> Flags:
    """[V] the first whole words of a vocabulary, which are its most frequent ones, if they are short."""
    flags = np.zeros(len(subwords), dtype=np.bool_)
    whole = subwords.starts_word if subwords.space_first else subwords.ends_word
    for piece in np.flatnonzero(whole)[: min(_FREQUENT, len(subwords) // 100)]:
        word = subwords.pieces[piece].strip(WORD_END)
        flags[piece] = word.isalpha() and len(word) <= _SHORT
    return flags


class SentenceTerms:
    """The terms of one sentence, and which of them are still to be written."""

    def __init__(self, terms: TermPieces) -> None:
        self._terms = terms
        self._read: tuple[int, bool] = (0, False)
        self._places: dict[Term, list[int]] = {}
        self._settled: list[tuple[int, Term]] = []
        """Terms that no later word can change, and their places."""
        self._next = 0
        """Place from which on the search begins at the next word."""

    def missing(self, heard: Sequence[str], complete: bool, written: Sequence[int]) -> dict[Term, list[int]]:
        """Terms that were read more often than their translations are `written`, and where their words stand."""
        if self._read != (len(heard), complete):
            self._search(heard, complete)
        if not self._places:
            return {}
        words = [bare(word) for word in self._terms.subwords.decode_words(self._finished(written))]
        wanted = Counter[tuple[str, ...]]()
        for term, places in self._places.items():
            wanted[bare_target(term)] += len(places) // len(term.source)
        return {
            term: places
            for term, places in self._places.items()
            if _count(bare_target(term), words) < wanted[bare_target(term)]
        }

    def _search(self, heard: Sequence[str], complete: bool) -> None:
        """For the terms in what was heard; not once more where later words change nothing."""
        if len(heard) < self._read[0]:
            self._settled, self._next = [], 0
        self._read, self._places = (len(heard), complete), {}
        glossary = self._terms.glossary
        found = [*self._settled, *glossary.found(heard, complete, self._next)]
        for first, term in found:
            self._places.setdefault(term, []).extend(range(first, first + len(term.source)))
        # As far as even the longest term would have been heard to its end.
        settled = len(heard) - glossary.longest + 1
        self._settled = [(first, term) for first, term in found if first < settled]
        ends = [first + len(term.source) for first, term in self._settled]
        self._next = max(0, settled, *ends[-1:])

    def has(self, word: str) -> bool:
        """Whether a translation of the glossary has this word."""
        return bare(word) in self._terms.words

    def writes(self, term: Term, before: Sequence[int], after: Sequence[int]) -> bool:
        """Whether a translation that goes on from `before` to `after` has the term once more."""
        target, decode = bare_target(term), self._terms.subwords.decode_words
        counts = [_count(target, [bare(word) for word in decode(self._finished(one))]) for one in (before, after)]
        return counts[1] > counts[0]

    def _finished(self, written: Sequence[int]) -> Sequence[int]:
        """Without the word that is only begun. With the space first, it may be whole."""
        if self._terms.subwords.space_first:
            return written
        ends = np.flatnonzero(self._terms.subwords.ends_word[list(written)])
        return written[: int(ends[-1]) + 1] if len(ends) else []

    def steered(
        self, logits: Logits, missing: Mapping[Term, list[int]], written: Sequence[int], attention: Floats | None
    ) -> Logits:
        """The scores of the piece after `written` with the bonuses of what is `missing`. Those given stay as they are.
        `attention` is that of the row, on each source word."""
        bonuses: dict[int, float] = {}

        def add(piece: int, bonus: float) -> None:
            bonuses[piece] = max(bonuses.get(piece, 0.0), bonus)

        begun = _words_begun(written, self._terms.subwords)
        between, turn = self.is_between(written, logits), self.is_turn(written, logits)
        for term, places in missing.items():
            begin = _begin_bonus(term, attention, places)
            go_on = max(begin, GO_ON) if between else GO_ON
            goes_on = False
            for last in begun:
                following = self._terms.spellings(term, first=len(last) == len(written)).get(last, {})
                goes_on = goes_on or bool(following)
                for piece, less in following.items():
                    add(piece, go_on - less)
            if turn and not goes_on:
                for piece, less in self._terms.spellings(term, first=not written)[()].items():
                    add(piece, begin - less)
        if not bonuses:
            return logits
        steered = logits.copy()
        for piece, bonus in bonuses.items():
            steered[piece] += bonus
        return steered

    def is_turn(self, written: Sequence[int], logits: Logits) -> bool:
        """Whether a term may begin here: not where the model has a small word for it first, such as an article."""
        return self.is_between(written, logits) and not self.is_small(int(np.argmax(logits)))

    def is_small(self, piece: int) -> bool:
        """Whether the piece is a small word, which may stand before a term."""
        return bool(self._terms.is_small[piece])

    def begun(
        self, missing: Mapping[Term, list[int]], written: Sequence[int], piece: int, attention: Floats | None
    ) -> dict[Term, list[int]]:
        """Those of the missing terms that the piece begins, behind `written`, where attention is on the term, if it is
        known: so what the model would have written there is its own translation of the term."""
        return {
            term: places
            for term, places in missing.items()
            if (attention is None or int(attention.argmax()) in places)
            and piece in self._terms.spellings(term, first=not written)[()]
        }

    def is_between(self, written: Sequence[int], logits: Logits) -> bool:
        """Whether a word may begin here. With the space first: if the model would begin one, or end the sentence."""
        subwords = self._terms.subwords
        if not written or not subwords.space_first:
            return not written or bool(subwords.ends_word[written[-1]])
        best = int(np.argmax(logits))
        return best in CLOSING_IDS or bool(subwords.starts_word[best])


def _begin_bonus(term: Term, attention: Floats | None, places: Sequence[int]) -> float:
    """The bonus of a term that may begin here, by the attention on its words."""
    if attention is None or not (every := float(attention.sum())) > 0:
        bonus = BEGIN_BLIND
    else:
        share, is_top = float(attention[places].sum()) / every, int(attention.argmax()) in places
        if is_top and share >= SURE and not term.optional:
            return FORCED
        bonus = BEGIN * min(1.0, share / 0.5) * (1.0 if is_top else 0.3)
    return _OPTIONAL * bonus if term.optional else bonus


def _words_begun(written: Sequence[int], subwords: Subwords) -> list[Pieces]:
    """The last pieces of `written`, from each place on where a word begins, as far as a term may have begun there."""
    found = []
    for place in range(len(written) - 1, max(-1, len(written) - 1 - LONGEST_TERM), -1):
        if subwords.space_first:
            starts = bool(subwords.starts_word[written[place]])
        else:
            starts = place == 0 or bool(subwords.ends_word[written[place - 1]])
        if starts:
            found.append(tuple(written[place:]))
    return found


@lru_cache(maxsize=4096)
def bare(word: str) -> str:
    """Without capitals, marks and the s of a genitive."""
    return normalise_word(word).removesuffix("'s")


def bare_target(term: Term) -> tuple[str, ...]:
    """The translation of a term, word by word as `bare` leaves it."""
    return tuple(map(bare, term.target))


def _count(target: tuple[str, ...], words: Sequence[str]) -> int:
    """How often `target` is in `words`."""
    length = len(target)
    return sum(tuple(words[first : first + length]) == target for first in range(len(words) - length + 1))
