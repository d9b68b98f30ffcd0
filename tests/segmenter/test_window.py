"""The classifier is asked about the windows that it was trained on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.tiny_segmenter import WORDS
from turia.corpus.boundaries import Samples, word_stream
from turia.segmenter.window import PAST, window_ids
from turia.text.vocabulary import BOUNDARY, UNHEARD, Vocabulary

sentences_of_words = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=15), min_size=1, max_size=6)


@settings(max_examples=30)
@given(sentences_of_words, st.integers(0, 4))
def test_online_windows_are_those_of_training(sentences: list[list[str]], w: int) -> None:
    """With the true boundaries in the past, the ids that the classifier is asked about are the training samples."""
    vocabulary = Vocabulary.learn(dict.fromkeys(WORDS, 1), len(WORDS))
    samples = Samples(word_stream([sentences], PAST).encode(vocabulary), PAST, w)
    flat = [word for sentence in sentences for word in sentence]
    past = [""] * PAST
    online = []
    position = 0
    for sentence in sentences:
        for word in sentence:
            position += 1
            future = flat[position : position + w]
            stopped = position + w > len(flat)
            online.append(window_ids(past[-PAST:], word, future, w, stopped, vocabulary))
            past.append(word)
        past.append("")
    np.testing.assert_array_equal(samples.ids(samples.indices), online)


def test_a_window_says_what_was_not_heard() -> None:
    vocabulary = Vocabulary.learn({"a": 1, "b": 1}, 2)
    a, b = vocabulary.id("a"), vocabulary.id("b")
    past = ["", *"aaaaaaaaa"]
    assert window_ids(past, "b", ["a"], 3, False, vocabulary)[-4:] == [b, a, UNHEARD, UNHEARD]
    assert window_ids(past, "b", ["a"], 3, True, vocabulary)[-4:] == [b, a, BOUNDARY, BOUNDARY]
