"""benchmarks/soak.py at a small size: random Unicode through everything that a stream is made of."""

from __future__ import annotations

from itertools import islice

import pytest
import torch

from benchmarks.soak import MOST_STATE, noise, soak
from tests.engine.fakes import Echo, fake_model
from turia.config import SegmenterModel
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.translator import Translator
from turia.runtime.folder import write_sums
from turia.runtime.random_model import made_up_words, write_random_folder
from turia.segmenter.classifier import Settings as SegmenterSettings
from turia.segmenter.export import export
from turia.segmenter.network import Network
from turia.segmenter.online import Decision
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model in int8 and a segmenter, all weights by chance."""
    folder = tmp_path_factory.mktemp("soaked")
    write_random_folder(folder, "tiny", "int8", ("de", "en"), vocabulary=500)
    torch.manual_seed(1)
    known = made_up_words()[:50]
    vocabulary = Vocabulary.learn(dict.fromkeys(known, 1), len(known))
    network = Network(SegmenterModel(embedding=12, hidden=8, feed_forward=8), len(vocabulary)).eval()
    export(network, vocabulary, folder)
    SegmenterSettings("de", len(vocabulary), dict.fromkeys(network.windows, Decision())).save(folder)
    write_sums(folder)
    return Translator.load(folder)


def test_random_unicode_through_a_model_and_its_segmenter(translator: Translator) -> None:
    stream = translator.stream(k=4)
    marks, notes = soak(stream, noise(1), 40)
    assert [mark.words for mark in marks] == list(range(4, 41, 4))
    assert max(mark.state for mark in marks) < MOST_STATE / 5
    # Line breaks of Unicode are white space, not words.
    assert stream.read == sum(len(word.split()) for word in islice(noise(1), 40))
    assert stream.written > 20
    assert notes["not-text"] + notes["long-word"] == stream.replaced > 5


def test_random_unicode_for_longer_with_a_stand_in_for_the_model() -> None:
    stream = Stream(fake_model(Echo()), PunctuationSegmenter("de"), Settings(k=4))
    marks, _ = soak(stream, noise(3), 400)
    assert max(mark.state for mark in marks) < MOST_STATE / 5
    assert stream.sentence > 20
