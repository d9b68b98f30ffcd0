"""How sure a recogniser was of its words."""

from __future__ import annotations

from turia.speech.certainty import REMEMBERED, Certainty


def said(text: str, *probabilities: float) -> list[tuple[str, float]]:
    """One probability for each word, or one for all."""
    words = text.split()
    return list(zip(words, probabilities if len(probabilities) > 1 else probabilities * len(words), strict=True))


def test_it_is_the_share_of_words_that_are_no_guesses() -> None:
    certainty = Certainty()
    assert certainty.share is None
    certainty.add(said("a b c d", 0.99, 0.98, 0.3, 0.5))
    assert certainty.share == 0.75
    certainty.add(said("e", 0.0))
    assert (certainty.sure, certainty.words) == (3, 5)


def test_a_phrase_that_is_repeated_is_no_surer_than_before() -> None:
    """As Moonshine does with German: what it has written itself is likely."""
    certainty = Certainty()
    certainty.add(said("the car is in the same height", 0.6, 0.1, 0.3, 0.6, 0.3, 0.9, 0.4))
    assert certainty.sure == 3
    certainty.add(said("The car, is in the same height.", 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0))
    # The first two words could be of any phrase.
    assert (certainty.sure, certainty.words) == (3 + 2 + 2, 14)
    # Of the third time, the second is what counts.
    certainty.add(said("is in the", 1.0))
    assert (certainty.sure, certainty.words) == (7 + 2, 17)


def test_what_was_sure_may_be_repeated_and_what_was_long_ago_is_forgotten() -> None:
    certainty = Certainty()
    certainty.add(said("we shall fight we shall fight we shall fight", 0.9))
    assert certainty.share == 1.0
    certainty.add(said("so far away", 0.1))
    certainty.add((str(number), 0.9) for number in range(REMEMBERED))
    certainty.add(said("so far away", 0.9))
    assert certainty.words - certainty.sure == 3
