"""How sure a recogniser was of its words."""

from __future__ import annotations

from turia.speech.certainty import Certainty


def test_it_is_the_share_of_words_that_are_no_guesses() -> None:
    certainty = Certainty()
    assert certainty.share is None
    certainty.add([0.99, 0.98, 0.3, 0.5])
    assert certainty.share == 0.75
    certainty.add([0.0])
    assert (certainty.sure, certainty.words) == (3, 5)
