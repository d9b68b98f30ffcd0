"""A glossary: how the terms of an event are to be translated (docs/terms.md).

    term<TAB>translation<TAB>case<TAB>optional
    Ausschuss       Board
    Zahradil                                    a name without a translation is copied as it stands here
    *kommission*    Commission                  `*` stands for any letters: compounds and inflected forms
    Grüne           Greens          exact       only with these capitals
    Sitzung         session                 yes only where the model nearly says so itself

A table is TSV or CSV, with or without a line of headings. Words are compared as a recogniser would give them. Where
terms overlap, the longest one holds, then the first one.

Whoever begins a session may bring a table, and all sessions wait while a server reads or searches it. So what a table
costs must not depend on how it was made: terms that begin alike are searched as one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from turia.errors import ConfigError
from turia.schema import has_half_characters
from turia.text.counted import counted
from turia.text.normalise import clean, normalise_word

MOST_TERMS = 1000
"""They are part of a stream's state, which a server stores at every word."""
MOST_WORDS = 10
"""Of a term or a translation; longer ones are sentences."""
MOST_LETTERS = 200
MOST_BYTES = 128 * 1024
_REMEMBERED = 20_000
"""Words of terms that fit words which were said, that a glossary remembers."""
_COLUMNS = ("term", "translation", "case", "optional")
_CASES = {"": False, "any": False, "exact": True}
_YES_NO = {"": False, "no": False, "yes": True}


@dataclass(frozen=True)
class Term:
    """One line of a glossary."""

    source: tuple[str, ...]
    """Words as they were typed; `*` at the beginning or the end of one stands for any letters."""
    target: tuple[str, ...]
    exact: bool = False
    """Capitals count, in what was said and in the translation."""
    optional: bool = False
    """A preference: written only where the model nearly writes it by itself."""

    def __str__(self) -> str:
        return " ".join(self.source)

    @property
    def translation(self) -> str:
        return " ".join(self.target)


class _WordOfTerm(NamedTuple):
    """A word of a term, as what is said is compared with it."""

    letters: str
    before: bool = False
    """Whether any letters may stand before these."""
    after: bool = False
    exact: bool = False

    def fits(self, word: str) -> bool:
        """Whether `word`, as `_comparable` gives it, can be this one."""
        if self.before:
            return self.letters in word if self.after else word.endswith(self.letters)
        return word.startswith(self.letters) if self.after else word == self.letters


@dataclass
class _Begun:
    """Terms that begin with the same words."""

    next: dict[_WordOfTerm, _Begun] = field(default_factory=dict)
    ends: int | None = None
    """Number of the term that ends here; the first one, of several."""


class Glossary:
    """Terms and their translations. A value: equal if the terms are, never changed."""

    def __init__(self, terms: Sequence[Term]) -> None:
        # Longest first, so that a search may take the first that fits; the order of the lines decides between equals.
        self.terms = tuple(sorted(terms, key=lambda term: -len(term.source)))
        self._remembered: dict[str, Collection[_WordOfTerm]] = {}
        self._many = 0
        """How many are remembered in all."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glossary) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: object) -> Glossary:
        return self

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        return f"{counted(len(self), 'term')} ({self.digest})"

    @cached_property
    def text(self) -> str:
        """A table from which `parse_glossary` makes the same terms again."""
        rows = (
            (str(term), term.translation, "exact" if term.exact else "", "yes" if term.optional else "")
            for term in self.terms
        )
        return "".join("\t".join(row).rstrip("\t") + "\n" for row in (_COLUMNS, *rows))

    @cached_property
    def digest(self) -> str:
        """Tells glossaries apart in traces and notes, without their words."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]

    @property
    def longest(self) -> int:
        """Words of the longest term."""
        return len(self.terms[0].source) if self.terms else 0

    def found(self, words: Sequence[str], complete: bool, first: int = 0) -> Iterator[tuple[int, Term]]:
        """The terms in `words`, from left to right, each with the place of its first word, from place `first` on.

        Unless they are `complete`, a term at their end that may yet turn out to be a longer one is left out.
        """
        while first < len(words):
            term, may_grow = self._at(words, first)
            if term is None:
                first += 1
                continue
            if may_grow and not complete:
                return
            yield first, term
            first += len(term.source)

    def _at(self, words: Sequence[str], first: int) -> tuple[Term | None, bool]:
        """The term that begins at this place, and whether the next words may make another, longer one of it."""
        begun, best = [self._beginnings], None
        for place in range(first, len(words)):
            fitting = self._fitting(words[place])
            begun = [one.next[word] for one in begun for word in one.next.keys() & fitting]
            ended = [one.ends for one in begun if one.ends is not None]
            best = min(ended, default=best)
            if not begun:
                break
        return None if best is None else self.terms[best], any(one.next for one in begun)

    def _fitting(self, word: str) -> Collection[_WordOfTerm]:
        """The words of terms that `word` can be. They are remembered: at each word its whole sentence is searched."""
        found = self._remembered.get(word)
        if found is None:
            forms = {exact: _comparable(word, exact) for exact in (False, True)}
            plain = (_WordOfTerm(form, exact=exact) for exact, form in forms.items())
            found = frozenset((*plain, *(one for one in self._wild if one.fits(forms[one.exact]))))
            self._many += len(found)
            if self._many > _REMEMBERED:
                self._remembered, self._many = {}, len(found)
            self._remembered[word] = found
        return found

    @cached_property
    def _beginnings(self) -> _Begun:
        root = _Begun()
        for number, term in enumerate(self.terms):
            begun = root
            for word in _words_of(term):
                begun = begun.next.setdefault(word, _Begun())
            if begun.ends is None:
                begun.ends = number
        return root

    @cached_property
    def _wild(self) -> frozenset[_WordOfTerm]:
        return frozenset(word for term in self.terms for word in _words_of(term) if word.before or word.after)


def _words_of(term: Term) -> tuple[_WordOfTerm, ...]:
    return tuple(
        _WordOfTerm(_comparable(word.strip("*"), term.exact), word.startswith("*"), word.endswith("*"), term.exact)
        for word in term.source
    )


def _comparable(word: str, exact: bool) -> str:
    """A word without the punctuation around it, and without its capitals unless they count."""
    return re.sub(r"^\W+|\W+$", "", word) if exact else normalise_word(word)


# --- tables -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def parse_glossary(text: str, name: str = "glossary") -> Glossary:
    """The glossary of a table. What is wrong is told in one line, with the line of the table."""
    # Remembered: a message is checked first, then done, and a server does so in two threads.
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ConfigError(f"{name}: more than {MOST_BYTES // 1024} KB, expected a table of at most {MOST_TERMS} terms")
    columns: Sequence[str] = _COLUMNS
    first: dict[tuple[_WordOfTerm, ...], tuple[int, Term]] = {}
    begun = False
    for line, cells in _rows(text, name):
        where = f"{name}, line {line}"
        if not begun and "term" in (headings := [cell.lower() for cell in cells]):
            columns = _headings(headings, where)
        else:
            term = _term(cells, columns, where)
            earlier, known = first.setdefault(_words_of(term), (line, term))
            if known != term:
                raise ConfigError(
                    f"{where}: {str(term)!r} has another translation, case or optional in line {earlier}; "
                    "expected one line for each term"
                )
        begun = True
    if len(first) > MOST_TERMS:
        raise ConfigError(f"{name}: {len(first)} terms, expected at most {MOST_TERMS}")
    return Glossary([term for _, term in first.values()])


def decode_glossary(data: bytes, name: str = "glossary") -> str:
    """The text of a file; tables of spreadsheets may be UTF-16, if they say so."""
    if len(data) > 2 * MOST_BYTES:
        raise ConfigError(f"{name}: more than {MOST_BYTES // 1024} KB, expected a table of at most {MOST_TERMS} terms")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not UTF-8 at byte {error.start}; save the table as UTF-8") from None


def _rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not empty and no comments, with their numbers."""
    table = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    delimiter = _delimiter(table)
    if delimiter == "\t":
        reader = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            cells = [" ".join(cell.split()) for cell in row]
            if any(cells) and not row[0].startswith("#"):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ConfigError(f"{name}, line {reader.line_num}: not a line of CSV ({error})") from None


def _delimiter(lines: Sequence[str]) -> str:
    """What parts the columns of the first line that has more than one: a name to be copied may stand alone."""
    return next((mark for line in lines for mark in ("\t", ",", ";") if mark in line), "\t")


def _headings(found: Sequence[str], where: str) -> Sequence[str]:
    for heading in found:
        if heading not in _COLUMNS:
            raise ConfigError(f"{where}: column {heading!r}, expected {', '.join(_COLUMNS)}")
    if len(set(found)) < len(found):
        raise ConfigError(f"{where}: a column is there twice")
    return found


def _term(cells: Sequence[str], columns: Sequence[str], where: str) -> Term:
    if any(cells[len(columns) :]):
        raise ConfigError(f"{where}: {len(cells)} columns, expected {', '.join(columns)}")
    values = dict.fromkeys(_COLUMNS, "") | dict(zip(columns, cells, strict=False))
    typed, translation = values["term"].split(), clean(values["translation"])
    if not typed:
        raise ConfigError(f"{where}: no term")
    flags = {"case": _CASES, "optional": _YES_NO}
    for column, known in flags.items():
        if values[column].lower() not in known:
            expected = ", ".join(choice for choice in known if choice)
            raise ConfigError(f"{where}: {column} is {values[column]!r}, expected {expected} or nothing")
    if has_half_characters("".join(cells)):
        # They would fail wherever the table is written: in the store of a server, in the digest of a trace.
        raise ConfigError(f"{where}: half a character; expected a text that can be written as UTF-8")
    for what, words in (("term", typed), ("translation", translation)):
        if len(words) > MOST_WORDS:
            raise ConfigError(f"{where}: the {what} has {len(words)} words, expected at most {MOST_WORDS}")
        if any(len(word) > MOST_LETTERS for word in words):
            raise ConfigError(f"{where}: the {what} has a word of more than {MOST_LETTERS} letters")
    for word in typed:
        if "*" in word.strip("*") or not normalise_word(word.strip("*")):
            raise ConfigError(
                f"{where}: {word!r} is no word that can be heard; expected letters or digits, with * only at its ends"
            )
    if not translation:
        if values["translation"] or any("*" in word for word in typed):
            raise ConfigError(f"{where}: {values['term']!r} has no translation; only a term without * can be copied")
        translation = clean(values["term"])
    exact, optional = _CASES[values["case"].lower()], _YES_NO[values["optional"].lower()]
    return Term(tuple(typed), tuple(translation), exact, optional)
