"""A glossary: how the terms of an event are to be translated (docs/terms.md).

    term<TAB>translation<TAB>case<TAB>optional
    Ausschuss       Board
    Zahradil                                    a name without a translation is copied as it stands here
    *kommission*    Commission                  `*` stands for any letters: compounds and inflected forms
    Grüne           Greens          exact       only with these capitals
    Sitzung         session                 yes only where the model nearly says so itself

A table is TSV or CSV, with or without a line of headings. Words are compared as a recogniser would give them. Where
terms overlap, the longest one holds, then the first one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from turia.errors import ConfigError
from turia.text.normalise import clean, normalise_word

MOST_TERMS = 1000
"""They are part of a stream's state, which a server stores at every word."""
MOST_WORDS = 10
"""Of a term or a translation; longer ones are sentences."""
MOST_LETTERS = 200
MOST_BYTES = 128 * 1024
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

    def matches(self, place: int, word: str) -> bool:
        """Whether `word`, as it was said, can be the word of the term at `place`."""
        return bool(_pattern(self.source[place], self.exact).fullmatch(_comparable(word, self.exact)))


class Glossary:
    """Terms and their translations. A value: equal if the terms are, never changed."""

    def __init__(self, terms: Sequence[Term]) -> None:
        # Longest first, so that a search may take the first that fits; the order of the lines decides between equals.
        self.terms = tuple(sorted(terms, key=lambda term: -len(term.source)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glossary) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: object) -> Glossary:
        return self

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        return f"{len(self)} {'term' if len(self) == 1 else 'terms'} ({self.digest})"

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

    def found(self, words: Sequence[str], complete: bool) -> Iterator[tuple[int, Term]]:
        """The terms in `words`, from left to right, each with the place of its first word.

        Unless they are `complete`, a term at their end that may yet turn out to be a longer one is left out.
        """
        first = 0
        while first < len(words):
            rest = words[first:]
            term = next((term for term in self._beginning(words[first]) if _begins(term, rest)), None)
            if term is None:
                first += 1
                continue
            longer = (other for other in self._beginning(words[first]) if len(other.source) > len(rest))
            if not complete and any(_may_become(other, rest) for other in longer):
                return
            yield first, term
            first += len(term.source)

    def _beginning(self, word: str) -> Sequence[Term]:
        """The terms that can begin with this word, longest first."""
        plain = self._by_first_word.get(normalise_word(word), ())
        return plain if not self._wild else sorted((*plain, *self._wild), key=lambda term: -len(term.source))

    @cached_property
    def _by_first_word(self) -> dict[str, list[Term]]:
        found: dict[str, list[Term]] = {}
        for term in self.terms:
            if "*" not in term.source[0]:
                found.setdefault(normalise_word(term.source[0]), []).append(term)
        return found

    @cached_property
    def _wild(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if "*" in term.source[0])


def _begins(term: Term, words: Sequence[str]) -> bool:
    """Whether `words` begin with the term."""
    return len(term.source) <= len(words) and all(
        term.matches(place, words[place]) for place in range(len(term.source))
    )


def _may_become(term: Term, words: Sequence[str]) -> bool:
    """Whether the term begins with all of `words`."""
    return all(term.matches(place, word) for place, word in enumerate(words))


@lru_cache(maxsize=4 * MOST_TERMS)
def _pattern(word: str, exact: bool) -> re.Pattern[str]:
    before, after = word.startswith("*"), word.endswith("*")
    letters = re.escape(_comparable(word.strip("*"), exact))
    return re.compile(f"{'.*' if before else ''}{letters}{'.*' if after else ''}")


def _comparable(word: str, exact: bool) -> str:
    """A word without the punctuation around it, and without its capitals unless they count."""
    return re.sub(r"^\W+|\W+$", "", word) if exact else normalise_word(word)


# --- tables -----------------------------------------------------------------------------------------------------------


def parse_glossary(text: str, name: str = "glossary") -> Glossary:
    """The glossary of a table. What is wrong is told in one line, with the line of the table."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ConfigError(f"{name}: more than {MOST_BYTES // 1024} KB, expected a table of at most {MOST_TERMS} terms")
    columns: Sequence[str] = _COLUMNS
    first: dict[tuple[tuple[str, ...], bool], tuple[int, Term]] = {}
    begun = False
    for line, cells in _rows(text, name):
        where = f"{name}, line {line}"
        if not begun and "term" in (headings := [cell.lower() for cell in cells]):
            columns = _headings(headings, where)
        else:
            term = _term(cells, columns, where)
            key = (tuple(_pattern(word, term.exact).pattern for word in term.source), term.exact)
            earlier, known = first.setdefault(key, (line, term))
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
    delimiter = _delimiter(table[0]) if table else "\t"
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


def _delimiter(line: str) -> str:
    return next((mark for mark in ("\t", ",", ";") if mark in line), "\t")


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
