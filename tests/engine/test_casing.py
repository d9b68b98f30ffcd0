"""Words without case and punctuation get what a model of written text knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engine.fakes import Echo, fake_model
from turia.engine.casing import recased
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.text.subwords import Subwords, train_subwords


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    """Knows a noun with a capital and a verb without."""
    return train_subwords({"Haus": 9000, "Haus.": 5000, "steht": 9000, "Steht": 20, "Im": 900, "im": 900}, 330)


@pytest.mark.parametrize(
    ("word", "begins", "ends", "written"),
    [
        ("haus", False, False, "Haus"),
        ("haus", False, True, "Haus."),
        ("steht", False, False, "steht"),
        ("steht", True, False, "Steht"),
        ("im", False, False, "im"),
        ("3,5", True, True, "3,5."),
        ("Haus,", False, False, "Haus,"),
        ("ist?", False, True, "ist?"),
        ("NATO", True, True, "NATO."),
        ("", True, True, ""),
    ],
)
def test_a_word_is_written_as_the_model_has_fewer_pieces_for_it(
    word: str, begins: bool, ends: bool, written: str, subwords: Subwords
) -> None:
    assert recased(word, subwords, begins=begins, ends=ends) == written


def test_a_stream_knows_where_its_sentences_begin_and_end() -> None:
    model = replace(fake_model(Echo()), normalises=False, recases=True)
    stream = Stream(model, GivenSegmenter([2, 2]), Settings(k=9))
    read = []
    for word in ("ka", "lo", "ka"):
        stream.push(word)
        read.append(model.source_subwords.decode_words(stream.current.writer.source.ids))
    # The second word ended a sentence, and with it the sentence is history.
    assert read == [["Ka"], [], ["Ka"]]
    [past] = stream.history.source
    assert model.source_subwords.decode_words(past.ids) == ["Ka", "lo."]
