"""Where a full stop is the end and where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.text.sentence_ends import ends_sentence, rules, sentences


@pytest.mark.parametrize(
    ("language", "word", "following", "expected"),
    [
        ("de", "Haus.", "Wir", True),
        ("de", "Haus.“", "Wir", True),
        ("de", "Haus.", None, True),
        ("de", "Haus,", "Wir", False),
        ("de", "Haus:", "Wir", False),
        ("de", "12.", "Mai", False),
        ("de", "12.", "Wir", True),
        ("de", "12.", None, False),
        ("de", "1999.", "Damals", True),
        ("de", "II.", "Weltkrieg", False),
        ("de", "bzw.", "Die", False),
        ("de", "z.B.", "Die", False),
        ("de", "Nr.", "5", False),
        ("de", "usw.", "Das", True),
        ("de", "usw.", "Bananen", False),
        ("de", "Wirklich?“", "fragte", False),
        ("de", "Wirklich?“", "„Ja", True),
        ("de", "also…", "Leute", False),
        ("de", "also...", "Das", True),
        ("de", "...", "Das", True),
        ("de", ".", "Leute", True),
        ("en", "12.", "May", True),
        ("en", "3.5", "Then", False),
        ("en", "Mr.", "The", False),
        ("en", "no.", "I", True),
        ("en", "no.", None, False),
        ("en", "No.", "5", False),
        ("en", "art.", "Painting", True),
        ("en", "J.", "Smith", False),
        ("en", "B.", "The", True),
        ("en", "U.S.", "Senate", False),
        ("en", "U.S.", "They", True),
        ("en", "approx.", "five", False),
        ("en", "five.)", "(And", True),
        ("en", "Yahoo!", "is", False),
        ("en", "what?!", "Sure", True),
        ("fr", "maison.", "Nous", True),
    ],
)
def test_values(language: str, word: str, following: str | None, expected: bool) -> None:
    assert ends_sentence(word, following, rules(language)) is expected


def test_long_words_cost_no_more_than_their_length() -> None:
    """Quadratic time on these would be hours."""
    assert not ends_sentence("." * 1_000_000 + "x", "Then", rules("en"))
    assert ends_sentence("." * 1_000_000 + "x.", "Then", rules("en"))
    assert not ends_sentence("x" + '"' * 1_000_000 + "x", "Then", rules("en"))


def test_case_says_nothing_where_there_is_none() -> None:
    assert not ends_sentence("is.", "now", rules("en"))
    assert ends_sentence("is.", "now", rules("en"), cased=False)


def test_a_running_text_is_cut() -> None:
    text = "I said -- well ... Dr. No is here. What? (No!) It was 3.5 percent in the U.S. and so on"
    assert [" ".join(words) for words in sentences(text.split(), "en")] == [
        "I said -- well ... Dr. No is here.",
        "What?",
        "(No!)",
        "It was 3.5 percent in the U.S. and so on",
    ]


@pytest.mark.slow
@given(st.lists(st.text(min_size=1).filter(lambda word: word.split() == [word])), st.sampled_from(["de", "en"]))
def test_no_word_is_lost(words: list[str], language: str) -> None:
    assert [word for sentence in sentences(words, language) for word in sentence] == words
