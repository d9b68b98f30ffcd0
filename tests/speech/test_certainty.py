"""How sure a recogniser was of its words."""

from __future__ import annotations

from turia.speech.certainty import REMEMBERED, Certainty


def test_it_is_the_share_of_words_that_are_no_guesses() -> None:
    certainty = Certainty()
    assert certainty.share is None
    certainty.add(zip("abcd", [0.99, 0.98, 0.3, 0.5], strict=True))
    assert certainty.share == 0.75
    certainty.add([("e", 0.0)])
    assert (certainty.sure, certainty.words) == (3, 5)


def test_a_phrase_that_is_repeated_is_no_surer_than_before() -> None:
    """As Moonshine does with German: what it has written itself is likely."""
    certainty = Certainty()
    certainty.add(zip("the car is in the same height".split(), [0.6, 0.1, 0.3, 0.6, 0.3, 0.9, 0.4], strict=True))
    assert certainty.sure == 3
    certainty.add(zip("The car, is in the same height.".split(), [0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0], strict=True))
    # The first two words could be of any phrase.
    assert (certainty.sure, certainty.words) == (3 + 2 + 2, 14)
    # Of the third time, the second is what counts.
    certainty.add((word, 1.0) for word in "is in the".split())
    assert (certainty.sure, certainty.words) == (7 + 2, 17)


def test_what_was_sure_may_be_repeated_and_what_was_long_ago_is_forgotten() -> None:
    certainty = Certainty()
    certainty.add((word, 0.9) for word in "we shall fight we shall fight we shall fight".split())
    assert certainty.share == 1.0
    certainty.add((word, 0.1) for word in "so far away".split())
    certainty.add((str(number), 0.9) for number in range(REMEMBERED))
    certainty.add((word, 0.9) for word in "so far away".split())
    assert certainty.words - certainty.sure == 3
