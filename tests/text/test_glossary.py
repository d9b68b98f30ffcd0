"""Glossaries: tables of terms, and where their terms stand in what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import ConfigError
from turia.text.glossary import _REMEMBERED, MOST_TERMS, Glossary, Term, _comparable, decode_glossary, parse_glossary


def found(table: str, said: str, complete: bool = True) -> list[tuple[int, str]]:
    return [(place, term.translation) for place, term in parse_glossary(table).found(said.split(), complete)]


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        "Ausschuss\tBoard\nZahradil\nGrüne\tGreens\texact\nSitzung\tsession\t\tyes\n",
        "Ausschuss,Board\nZahradil\nGrüne,Greens,exact\nSitzung,session,,yes\n",
        "Ausschuss;Board\n\nZahradil;\n# a comment\nGrüne;Greens;EXACT\nSitzung;session;any;Yes",
        "optional,Translation,Term,case\r\n,Board,Ausschuss,\r\n,,Zahradil,\r\n,Greens,Grüne,exact\r\nyes,session,Sitzung,",
        'term\ttranslation\n"Ausschuss"\tBoard\n'.replace('"', "")
        + "Zahradil\nAusschuss\tBoard\nGrüne\tGreens\texact\nSitzung\tsession\t\tyes\n",
    ],
)
def test_a_table_is_tsv_or_csv_with_or_without_headings(table: str) -> None:
    if table.startswith("term\ttranslation"):
        table = table.replace("term\ttranslation\n", "term\ttranslation\tcase\toptional\n")
    assert set(parse_glossary(table).terms) == {
        Term(("Ausschuss",), ("Board",)),
        Term(("Zahradil",), ("Zahradil",)),
        Term(("Grüne",), ("Greens",), exact=True),
        Term(("Sitzung",), ("session",), optional=True),
    }


@pytest.mark.parametrize("mark", ["\t", ",", ";"])
def test_a_table_may_begin_with_a_name_alone(mark: str) -> None:
    terms = parse_glossary(f"Zahradil\nAusschuss{mark}Board\n").terms
    assert [(term.source, term.target) for term in terms] == [(("Zahradil",),) * 2, (("Ausschuss",), ("Board",))]


def test_quotes_hold_commas_together_in_csv() -> None:
    assert parse_glossary('Rat,"Council, the"').terms == (Term(("Rat",), ("Council,", "the")),)


def test_the_text_of_a_glossary_gives_the_same_glossary() -> None:
    glossary = parse_glossary("Europäische Kommission\tEuropean Commission\nGrüne\tGreens\texact\tyes\nZahradil\n")
    again = parse_glossary(glossary.text)
    assert (again, hash(again), str(again)) == (glossary, hash(glossary), f"3 terms ({glossary.digest})")
    assert deepcopy(glossary) is glossary
    assert parse_glossary("Rat\tCouncil") != glossary


def test_an_empty_table_is_a_glossary_without_terms() -> None:
    assert len(parse_glossary("\n# nothing\n\n")) == 0


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("Rat\tCouncil\nrat\tboard", "g.csv, line 2: 'rat' has another translation, case or optional in line 1"),
        ("Rat\tCouncil\n\tboard", "g.csv, line 2: no term"),
        ("Rat,Council,never", "g.csv, line 1: case is 'never', expected any, exact or nothing"),
        ("Rat,Council,,maybe", "g.csv, line 1: optional is 'maybe', expected no, yes or nothing"),
        ("a " * 50 + "\tb", "g.csv, line 1: the term has 50 words, expected at most 10"),
        ("a\t" + "b " * 50, "g.csv, line 1: the translation has 50 words, expected at most 10"),
        ("a\t" + "b" * 300, "g.csv, line 1: the translation has a word of more than 200 letters"),
        ("a,b,,,c", "g.csv, line 1: 5 columns, expected term, translation, case, optional"),
        ("Ra\ud800t\tCouncil", "g.csv, line 1: half a character"),
        ("Rat\tCouncil\nSaal\troom\udfff", "g.csv, line 2: half a character"),
        ("–\tdash", "g.csv, line 1: '–' is no word that can be heard"),
        ("Kom*ission\tb", "g.csv, line 1: 'Kom*ission' is no word that can be heard"),
        ("Kommission*", "g.csv, line 1: 'Kommission*' has no translation; only a term without * can be copied"),
        ("term,meaning\na,b", "g.csv, line 1: column 'meaning', expected term, translation, case, optional"),
        ("term,term\na,b", "g.csv, line 1: a column is there twice"),
        ('a,"b', "g.csv, line 1: not a line of CSV"),
        ("".join(f"a{i}\tb\n" for i in range(MOST_TERMS + 1)), "g.csv: 1001 terms, expected at most 1000"),
        ("a\tb\n" * 100_000, "g.csv: more than 128 KB"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_wrong_with_a_table_is_one_line(table: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_glossary(table, "g.csv")
    assert str(error.value).startswith(complaint)
    assert "\n" not in str(error.value)


def test_the_same_line_twice_is_one_term() -> None:
    assert len(parse_glossary("Rat\tCouncil\nRat\tCouncil\n")) == 1


def test_tables_of_spreadsheets_are_decoded() -> None:
    table = "Rat\tCouncil\nGrüne\tGreens\n"
    assert decode_glossary(table.encode()) == decode_glossary(table.encode("utf-8-sig")) == table
    assert decode_glossary(table.encode("utf-16")) == table
    with pytest.raises(ConfigError, match=r"^g.csv: not UTF-8 at byte 14; save the table as UTF-8$"):
        decode_glossary(table.encode("latin-1"), "g.csv")


# --- terms in what was said -------------------------------------------------------------------------------------------


def test_terms_are_found_as_a_recogniser_gives_them() -> None:
    table = "Rat\tCouncil\nEuropäische Kommission\tEuropean Commission\n"
    assert found(table, "der rat und die Europäische Kommission, der RAT.") == [
        (1, "Council"),
        (4, "European Commission"),
        (7, "Council"),
    ]


def test_capitals_count_where_the_case_is_exact() -> None:
    assert found("Grüne\tGreens\texact", "die grüne Wiese der Grüne, Grünen") == [(4, "Greens")]


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("kommission*", ["Kommission", "Kommissionen"]),
        ("*kommission", ["Kommission", "EU-Kommission", "Unterkommission"]),
        ("*kommission*", ["Kommission", "Kommissionen", "EU-Kommission", "Unterkommission", "Fachkommissionen"]),
    ],
)
def test_stars_stand_for_compounds_and_endings(term: str, words: list[str]) -> None:
    said = ["Kommission", "Kommissionen", "EU-Kommission", "Unterkommission", "Fachkommissionen", "Kommissar"]
    places = [place for place, _ in parse_glossary(f"{term}\tx").found(said, complete=True)]
    assert [said[place] for place in places] == words


def test_the_longest_term_holds() -> None:
    table = "Bank\tbank\nEuropäische Zentralbank\tECB\nZentralbank\tcentral bank\n*bank\tany bank\n"
    assert found(table, "die Europäische Zentralbank ist eine Zentralbank") == [(1, "ECB"), (5, "central bank")]


def test_a_term_that_may_become_a_longer_one_waits_for_the_next_word() -> None:
    table = "Rat\tCouncil\nRat der Weisen\tCouncil of Sages\n"
    assert found(table, "der Rat", complete=False) == []
    assert found(table, "der Rat der", complete=False) == []
    assert found(table, "der Rat der Städte", complete=False) == [(1, "Council")]
    assert found(table, "der Rat der Weisen", complete=False) == [(1, "Council of Sages")]
    assert found(table, "der Rat der", complete=True) == [(1, "Council")]


def test_equal_terms_are_taken_in_the_order_of_the_lines() -> None:
    glossary = Glossary([Term(("*rat",), ("first",)), Term(("*at",), ("second",))])
    assert [term.translation for _, term in glossary.found(["Rat"], complete=True)] == ["first"]


def matches(term: Term, words: Sequence[str]) -> bool:
    """Word by word, as far as the shorter of the two goes."""
    for typed, said in zip(term.source, words, strict=False):
        letters = re.escape(_comparable(typed.strip("*"), term.exact))
        pattern = f"{'.*' * typed.startswith('*')}{letters}{'.*' * typed.endswith('*')}"
        if not re.fullmatch(pattern, _comparable(said, term.exact)):
            return False
    return True


def found_one_by_one(glossary: Glossary, words: Sequence[str], complete: bool) -> Iterator[tuple[int, Term]]:
    """What docs/terms.md says, term by term."""
    first = 0
    while first < len(words):
        rest = words[first:]
        term = next((term for term in glossary.terms if len(term.source) <= len(rest) and matches(term, rest)), None)
        if term is not None:
            longer = [other for other in glossary.terms if len(other.source) > len(rest)]
            if not complete and any(matches(other, rest) for other in longer):
                return
            yield first, term
        first += 1 if term is None else len(term.source)


typed_words = st.sampled_from(["a", "A", "b", "ab", "a*", "*b", "*a*", "*A", "Ab*"])
some_terms = st.builds(
    Term, st.lists(typed_words, min_size=1, max_size=3).map(tuple), st.sampled_from([("x",), ("y",)]), st.booleans()
)
said_words = st.lists(st.sampled_from(["a", "A,", "b", "ab", "Ab.", "bab", "-"]), max_size=8)


@given(st.lists(some_terms, max_size=8), said_words, st.booleans())
def test_terms_that_are_searched_as_one_are_found_like_one_by_one(
    terms: list[Term], words: list[str], complete: bool
) -> None:
    glossary = Glossary(terms)
    assert list(glossary.found(words, complete)) == list(found_one_by_one(glossary, words, complete))


def test_a_table_is_read_once_for_all_who_ask() -> None:
    assert parse_glossary("Rat\tCouncil") is parse_glossary("Rat\tCouncil")


def test_what_is_remembered_of_words_does_not_grow_for_ever() -> None:
    glossary = parse_glossary("".join(f"*{a}{b}*\tx\n" for a in "abcdefgh" for b in "abcdefgh"))
    every = "".join(a + b for a in "abcdefgh" for b in "abcdefgh")
    for number in range(1000):
        assert len(glossary._fitting(f"{every}{number}")) == 2 + 64
    assert sum(map(len, glossary._remembered.values())) == glossary._many <= _REMEMBERED
