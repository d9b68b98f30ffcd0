"""Words on which two decodings agree are settled, once, whatever later decodings say of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.speech.fakes import texts, word
from turia.speech.agreement import Agreement, DecodedWord, letters, matching_prefix


def decoding(text: str) -> list[DecodedWord]:
    return [word(each) for each in text.split()]


def push(agreement: Agreement, text: str) -> str:
    return " ".join(texts(agreement.push(decoding(text))))


def test_what_two_decodings_say_is_settled_but_for_the_last_word() -> None:
    agreement = Agreement()
    assert push(agreement, "we talk") == ""
    assert push(agreement, "we talk to lit") == "we talk"
    assert push(agreement, "we talk too little about") == ""
    assert texts(agreement.open) == ["too", "little", "about"]
    assert push(agreement, "we talk too little about water") == "too little about"
    assert push(agreement, "we talk too little about water") == "", "the sound may end inside the last word"
    assert texts(agreement.settle_all(decoding("we talk too little about water."))) == ["water."]


def test_case_and_punctuation_do_not_count_and_the_newest_are_taken() -> None:
    agreement = Agreement()
    push(agreement, "it was the best.")
    assert push(agreement, "It was the best of times.") == "It was the best"


def test_settled_words_stay_though_a_later_decoding_has_others_in_their_place() -> None:
    agreement = Agreement()
    push(agreement, "we talk and write deal")
    assert push(agreement, "we talk and write deal about") == "we talk and write deal"
    assert push(agreement, "we talk a great deal about energy and") == "about"
    assert push(agreement, "we talk great deal about energy and prices") == "energy and"


def test_the_second_half_of_a_cut_sound_does_not_settle_its_words_again() -> None:
    agreement = Agreement()
    push(agreement, "a b c d e f")
    assert push(agreement, "a b c d e f g") == "a b c d e f"
    settled, second = agreement.after_cut(decoding("a b c"))
    assert settled == []
    assert push(second, "d e f g") == ""
    assert push(second, "d e f g h") == "g"


def test_a_cut_settles_what_its_first_half_has_beyond_the_settled_words() -> None:
    agreement = Agreement()
    push(agreement, "a b")
    assert push(agreement, "a b c") == "a b"
    settled, second = agreement.after_cut(decoding("a b c d"))
    assert texts(settled) == ["c", "d"]
    assert push(second, "e f") == ""
    assert push(second, "e f g") == "e f"


def test_the_prefix_that_says_the_same_is_found() -> None:
    assert matching_prefix([], ["a", "b"]) == 0
    assert matching_prefix(["a", "b"], ["a", "b", "c"]) == 2
    assert matching_prefix(["a", "x", "b"], ["a", "b", "c"]) == 2
    assert matching_prefix(["a", "b"], ["a", "x", "b", "c"]) == 3
    assert matching_prefix(["a", "b"], []) == 0


def test_a_word_without_letters_is_compared_as_it_stands() -> None:
    assert letters("Don't") == "dont"
    assert letters("—") == "—"


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=8))
def test_what_is_settled_and_open_is_the_end_of_the_decoding(decodings: list[list[str]]) -> None:
    agreement = Agreement()
    for each in decodings:
        new = texts(agreement.push([word(text) for text in each])) + texts(agreement.open)
        assert new == each[len(each) - len(new) :]
