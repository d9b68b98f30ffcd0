"""Sentences from the punctuation of the input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.segmenter.online import Reason
from turia.segmenter.punctuation import PunctuationSegmenter


def sentences(text: str, language: str, window: int = 1, max_words: int = 60) -> list[str]:
    segmenter = PunctuationSegmenter(language, window, max_words)
    visible = [item for word in text.split() for item in segmenter.push(word)] + segmenter.flush()
    found: list[list[str]] = [[]]
    for item in visible:
        if item.word is not None:
            found[-1].append(item.word)
        if item.ends_sentence:
            found.append([])
    return [" ".join(words) for words in found if words]


GERMAN = "Am 12. Mai kam Dr. Weber, d.h. z. B. um 8.30 Uhr. Ludwig XIV. war auch da! „Wirklich?“ fragte sie. Ja."
ENGLISH = 'Mr. Smith paid $3.50 to J. R. Ewing. "Why?" she asked. The U.S. Senate met at 10 a.m. on Monday. Fine.'


def test_abbreviations_numbers_and_initials_end_no_sentence() -> None:
    assert sentences(GERMAN, "de") == [
        "Am 12. Mai kam Dr. Weber, d.h. z. B. um 8.30 Uhr.",
        "Ludwig XIV. war auch da!",
        "„Wirklich?“ fragte sie.",
        "Ja.",
    ]
    assert sentences(ENGLISH, "en") == [
        "Mr. Smith paid $3.50 to J. R. Ewing.",
        '"Why?" she asked.',
        "The U.S. Senate met at 10 a.m. on Monday.",
        "Fine.",
    ]


def test_without_looking_ahead_only_doubtless_marks_end_a_sentence() -> None:
    assert sentences("Am 12. Mai kam er. Und dann?", "de", window=0) == ["Am 12. Mai kam er.", "Und dann?"]


def test_input_without_capitals_is_cut_as_well() -> None:
    assert sentences("so it is. now we go. fine.", "en") == ["so it is.", "now we go.", "fine."]


def test_once_a_capital_has_come_a_lower_case_word_goes_on() -> None:
    assert sentences("The firm xy. made it. so it is. Fine.", "en") == ["The firm xy. made it. so it is.", "Fine."]
    assert sentences("the firm xy. made it.", "en") == ["the firm xy.", "made it."]


def test_a_silent_word_is_not_the_next_one() -> None:
    assert sentences("Am 12. – Mai kam er.", "de", window=2) == ["Am 12. – Mai kam er."]
    assert sentences("Es sind 12. – Wir gehen.", "de", window=2) == ["Es sind 12.", "– Wir gehen."]


@pytest.mark.parametrize("mark", [";", ":", "–", "—", "--"])
def test_farther_from_the_limit_only_stronger_marks_cut(mark: str) -> None:
    text = "a b c, d{} e f g h i j k l m n o p"
    assert sentences(text.format(mark), "en", max_words=12)[0] == f"a b c, d{mark}"
    assert sentences(text.format(","), "en", max_words=12)[0] == "a b c, d, e f g h i j k l"


def test_near_the_limit_a_sentence_is_cut_at_a_comma() -> None:
    cut = sentences("a b c d e f, g h i j k l m n", "en", max_words=8)
    assert cut == ["a b c d e f,", "g h i j k l m n"]


def test_a_lone_mark_ends_the_sentence_with_itself() -> None:
    segmenter = PunctuationSegmenter("en", window=1)
    visible = [item for word in ["So", "it", "is", ".", "Good"] for item in segmenter.push(word)]
    assert visible[3].word == "."
    assert visible[3].reason is Reason.PUNCTUATION


@pytest.mark.parametrize("window", range(4))
@given(words=st.lists(st.text(alphabet='aA1.?!…,"–', min_size=1, max_size=4)))
def test_words_come_out_once_each_in_order(window: int, words: list[str]) -> None:
    segmenter = PunctuationSegmenter("de", window, max_words=5)
    visible = [item for word in words for item in segmenter.push(word)] + segmenter.flush()
    assert [item.word for item in visible if item.word is not None] == words
    restored = PunctuationSegmenter("de", window, max_words=5)
    half = len(words) // 2
    begun = [item for word in words[:half] for item in segmenter.push(word)]
    restored.restore(segmenter.state())
    assert begun + [item for word in words[half:] for item in restored.push(word)] + restored.flush() == visible
