"""Where punctuation ends a sentence, in written German and English: the rule, word by word.

`ends_sentence` looks at one word and, where it is known, the word after it. It serves both the corpora
(sentences of a running text) and the stream segmenter that trusts the punctuation of its input, so the two
cannot drift apart.

- `?` and `!` end a sentence, and so does `.`, unless the next word is lower case (`"Why?" she asked`,
  `approx. five`).
- A mark that stands alone (`so it is .`) ends it too.
- A full stop after a title or the like (`Dr.`, `z.B.`, `bzw.`) never ends a sentence.
- A full stop is *doubtful* after an initial, a dotted abbreviation (`U.S.`), a word such as `etc.`, and
  after a German ordinal (`12.`, `II.`); so is every ellipsis. It ends the sentence only if the next word is
  an opener: a capitalised word that within a sentence would be lower case (`The`, `Wir`).
- Words such as `no.` and `art.` are abbreviations if a number follows.
- Colons and semicolons do not end a sentence.

Without a next word (a segmenter that may not look ahead) a doubtful mark does not end the sentence. Input
without any capital letter says nothing by its case: pass `cased=False`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_MARKS = ".!?…"
_CLOSING = "\"'”’“‘»«›‹)]}*"
_OPENING = "\"'„“”‚‘’»«›‹([{¿¡–—-*"


@dataclass(frozen=True)
class LanguageRules:
    """What one language knows; words are lower case and without their full stop."""

    never: frozenset[str]
    """Abbreviations that something always follows."""
    doubtful: frozenset[str]
    """Abbreviations that may also end a sentence."""
    numbered: frozenset[str]
    """Abbreviations in front of a number only; elsewhere they are words (`no.`, `art.`)."""
    openers: frozenset[str]
    """Function words: capitalised, they begin a sentence."""
    ordinals: bool
    """Whether a number with a full stop is an ordinal."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = LanguageRules(
    never=_words(
        "mr mrs ms messrs dr prof gen col sen rep gov rev hon lt sgt capt cmdr st mt vs e.g eg i.e ie cf approx"
        " fig figs vol vols pp"
    ),
    doubtful=_words("etc inc ltd co corp jr sr bros dept est univ ave ph.d"),
    numbered=_words("no nos art sec jan feb mar apr jun jul aug sep sept oct nov dec"),
    openers=_words(
        "the a an this that these those he she it we you they my your his her its our their there here and but or so"
        " if when while what where who why how which in on at for from with by as to of after before since because"
        " although now then thus therefore however yet not no yes let please all some many most every each one both"
        " is are was were do does did can could will would should have has had may might must"
    ),
    ordinals=False,
)
_GERMAN = LanguageRules(
    never=_words(
        "bzw ca evtl ggf inkl exkl vgl z.b zb d.h dh u.a i.d.r z.t sog bspw st dr prof hr fr dipl ing med jur phil"
        " mag hl geb gest verh allg insb einschl zzgl lt z d h b bes dgl nr nrn abs ziff"
    ),
    doubtful=_words("usw usf etc mio mrd chr jh tel str o.ä o.g max min"),
    numbered=_words("art kap abschn bd s jan feb mär apr jun jul aug sep sept okt nov dez"),
    openers=_words(
        "der die das den dem des ein eine einen einem einer eines ich du er sie es wir ihr mein meine unser unsere"
        " dies diese dieser dieses diesen diesem jener jene man und aber oder denn doch sondern wenn als weil da damit"
        " dann deshalb daher darum deswegen dennoch trotzdem außerdem zudem ferner hier dort heute jetzt nun so auch"
        " nur schon noch nicht kein keine was wer wie wo warum weshalb welche welcher welches in im an am auf aus bei"
        " beim mit nach seit von vom vor zu zum zur für gegen durch ohne um über unter zwischen während trotz"
        " ist sind war waren hat haben kann können muss müssen soll sollen wird werden alle viele einige jeder jede"
    ),
    ordinals=True,
)
_RULES = {"de": _GERMAN, "en": _ENGLISH}

_INITIALS = re.compile(r"[^\W\d_](\.[^\W\d_])*")
_ORDINAL = re.compile(r"\d{1,3}|[IVX]+")


def rules(language: str) -> LanguageRules:
    """The rules of `language`; a language without its own has those that need no word lists."""
    return _RULES.get(language, LanguageRules(frozenset(), frozenset(), frozenset(), frozenset(), ordinals=False))


def ends_sentence(word: str, following: str | None, known: LanguageRules, cased: bool = True) -> bool:
    """Whether a sentence ends at `word`; `following` is the next word, None where it is not known."""
    # Not a regular expression: those that say the same take quadratic time on a word of 100,000 full stops.
    core = word.rstrip(_CLOSING)
    body = core.rstrip(_MARKS)
    mark = core[len(body) :]
    if not mark:
        return False
    start = (following or "").lstrip(_OPENING)
    if cased and start[:1].islower():
        return False
    body = body.lstrip(_OPENING)
    if not body or "?" in mark or "!" in mark:
        return mark not in ("…", "..", "...") or _opens(start, known)
    if body.lower() in known.never:
        return False
    if body.lower() in known.numbered and mark == ".":
        return following is not None and not start[:1].isdecimal()
    if _is_doubtful(body, mark, known):
        return _opens(start, known)
    return True


def sentences(words: Iterable[str], language: str) -> list[list[str]]:
    """The running text `words`, cut at its sentence ends; the last one ends with the text."""
    known = rules(language)
    cut: list[list[str]] = [[]]
    for word, following in pairwise((*words, None)):
        assert word is not None
        cut[-1].append(word)
        if ends_sentence(word, following, known):
            cut.append([])
    return [sentence for sentence in cut if sentence]


def _is_doubtful(body: str, mark: str, known: LanguageRules) -> bool:
    if mark != ".":
        return True
    is_ordinal = known.ordinals and _ORDINAL.fullmatch(body) is not None
    return is_ordinal or body.lower() in known.doubtful or _INITIALS.fullmatch(body) is not None


def _opens(start: str, known: LanguageRules) -> bool:
    """Whether the next word, without its opening quotes, can only begin a sentence."""
    word = start.rstrip(_MARKS + _CLOSING + ",;:")
    return word[:1].isupper() and word.lower() in known.openers
