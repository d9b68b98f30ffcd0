"""Normalisation: the same words in training and in a stream, whatever comes."""

from __future__ import annotations

import lzma
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.text.normalise import clean, clean_word, normalise, normalise_word, part_joined_words

# Text of any kind, lone surrogates included, with the characters that matter here made frequent.
ANY = st.text(st.one_of(st.characters(), st.sampled_from("aZß9 .,:'’-–/“▁\u00ad\u0301\ud800\x07\u2028")))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Haus,", "haus"),
        ("„Überflieger“,", "überflieger"),
        ("'Regierung'", "regierung"),
        ("Herodotus'", "herodotus"),
        ("kommt’s:", "kommt's"),
        ("Design-Wettbewerb", "design-wettbewerb"),
        ("Zwangs-", "zwangs"),
        ("E\u2011Mail", "e-mail"),
        ("1m", "1m"),
        ("CO2", "co2"),
        ("160.000", "160.000"),
        ("3,5%", "3,5%"),
        ("10:30", "10:30"),
        ("2004/38/EG", "2004/38-eg"),
        ("2007–2013", "2007-2013"),
        ("21.", "21"),
        ("€", "€"),
        ("AT&T", "at&t"),
        ("z.B.", "zb"),
        ("Bürger(innen)", "bürgerinnen"),
        ("und/oder", "und-oder"),
        ("text“Mit", "text-mit"),
        ("ja...nein", "ja-nein"),
        ("–", ""),
        ("...", ""),
        ("▁", ""),
        ("Haus▁", "haus"),
        ("\ud800", ""),
        ("So\u00adzial\u200b", "sozial"),
        ("\ufeffJa", "ja"),
        ("GRO\u1e9e", "groß"),
        ("u\u0308ber", "über"),
        ("<SEP>", "sep"),
    ],
)
def test_normalise_word(word: str, expected: str) -> None:
    assert normalise_word(word) == expected


@given(ANY)
def test_a_word_becomes_one_word_or_nothing(word: str) -> None:
    normalised = normalise_word(word)
    assert normalised.split() == ([normalised] if normalised else [])
    assert "▁" not in normalised
    assert normalised.encode().decode() == unicodedata.normalize("NFC", normalised)
    assert normalise_word(normalised) == normalised


@given(ANY)
def test_a_text_is_its_words(text: str) -> None:
    assert normalise(text) == [word for raw in text.split() if (word := normalise_word(raw))]


@given(st.lists(ANY))
def test_words_know_no_neighbours(words: list[str]) -> None:
    assert normalise(" ".join(words)) == [word for text in words for word in normalise(text)]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("“Hello,”", "“Hello,”"),
        ("e\u0301", "é"),
        ("a▁b", "a_b"),
        ("\x00x\ud800", "x"),
        ("\u200b", ""),
        ("<SEP>", "<SEP>"),
    ],
)
def test_clean_word(word: str, expected: str) -> None:
    assert clean_word(word) == expected


@given(ANY)
def test_cleaning_is_safe_and_stable(text: str) -> None:
    words = clean(text)
    joined = " ".join(words)
    assert clean(joined) == words == joined.split()
    assert "▁" not in joined
    assert joined.encode().decode() == unicodedata.normalize("NFC", joined)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wort–Wort", ["wort", "wort"]),
        ("HIV/Aids", ["hiv", "aids"]),
        ("sagte er.Dann ging", ["sagte", "er", "dann", "ging"]),
        ("er sagte:„Ja“Mit", ["er", "sagte", "ja", "mit"]),
        ("nein...doch", ["nein", "doch"]),
        ("ja--nein", ["ja", "nein"]),
        ("z.B. d.h. U.S.A.", ["zb", "dh", "usa"]),
        ("2007–2013 3,5 10:30 E-Mail geht's", ["2007-2013", "3,5", "10:30", "e-mail", "geht's"]),
    ],
)
def test_corpora_are_parted_where_a_speaker_would(text: str, expected: list[str]) -> None:
    assert normalise(part_joined_words(text)) == expected


@given(ANY)
def test_parting_only_adds_spaces(text: str) -> None:
    assert part_joined_words(text).replace(" ", "") == text.replace(" ", "")


def test_near_to_what_the_authors_fed(shared: Path) -> None:
    """What they fed passes unchanged; from the raw talk we get it too, but for numbers and symbols, which we keep."""
    fed = (shared / "conformance/tst2010/source.de").read_text(encoding="utf-8").splitlines()
    assert [normalise(line) for line in fed] == [line.split() for line in fed]
    with lzma.open(shared / "data/ted/tst2010.tsv.xz", "rt", encoding="utf-8") as file:
        raw = [line.split("\t")[1] for line in file]
    words = [normalise(part_joined_words(line)) for line in raw]
    other = [ours for ours, line in zip(words, fed, strict=True) if ours != line.split()]
    assert len(other) < 0.04 * len(fed)
    symbols = re.compile(r"\d|[%$&°]")
    assert sum(1 for line in other if not symbols.search(" ".join(line))) <= 3
