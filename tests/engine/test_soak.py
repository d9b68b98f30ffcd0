"""benchmarks/soak.py at a small size: random Unicode through everything that a stream is made of."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import pytest
import torch

from benchmarks.soak import MOST_STATE, Mark, free_stream, grown, main, noise, soak
from tests.engine.fakes import Echo, fake_model
from turia.config import SegmenterModel
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.export.random_model import made_up_words, write_random_folder
from turia.runtime.folder import write_sums
from turia.runtime.translator import Translator
from turia.segmenter.classifier import SegmenterSettings as SegmenterSettings
from turia.segmenter.online import Decision
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.text.vocabulary import Vocabulary
from turia.training.segmenter.export import export
from turia.training.segmenter.network import Network

pytestmark = pytest.mark.slow


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


def test_there_is_history_whatever_the_model_has_by_default(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = copy(translator)
    without.model = replace(translator.model, history=0)
    soaked: list[int] = []

    def note_history(stream: Stream, *_: object) -> tuple[list[Mark], Counter[str]]:
        soaked.append(stream.settings.history)
        return [Mark(1, 1.0, 1, 1.0, 0.0)], Counter()

    monkeypatch.setattr(Translator, "load", lambda _: without)
    monkeypatch.setattr("benchmarks.soak.soak", note_history)
    monkeypatch.setattr("benchmarks.soak.REMEMBERED", 1)
    assert main(["--model", "any"]) == main(["--model", "any", "--history", "7"]) == 0
    assert soaked == [60, 7]


@pytest.mark.parametrize(
    ("megabytes", "state", "complaints"),
    [
        ([90, 100, 120, 105], 1, []),  # the first tenth is still filling, and between it may be more
        ([90, 100, 100, 106], 1, ["memory from 100 to 106 MB"]),
        ([100, 100, 100, 100], MOST_STATE + 1000, ["state up to 101 kB"]),
    ],
)
def test_what_grew_is_named(megabytes: list[float], state: int, complaints: list[str]) -> None:
    assert grown([Mark(number, 1.0, state, each, 5.0) for number, each in enumerate(megabytes)]) == complaints


@pytest.mark.parametrize("kind", ["endless", "mute"])
def test_random_unicode_without_a_segmenter(kind: str, free_folder: Path) -> None:
    """The model never writes a separator, or never a word of its own accord: a real one, bent to that."""
    stream = free_stream(str(free_folder), kind, history=20)
    marks, _ = soak(stream, noise(2), 60)
    assert stream.free
    assert max(mark.state for mark in marks) < MOST_STATE / 5
    assert stream.written > 20


def test_a_model_that_was_not_tuned_for_it_is_cut_by_force(model_folder: Path) -> None:
    """It never writes a separator: a limit or a guard cuts its sentences, and what is remembered stays small."""
    stream = free_stream(str(model_folder), "endless", history=20)
    marks, notes = soak(stream, cycle(made_up_words()[:40]), 300)
    assert stream.written > 100
    assert notes["no-separator"] + notes["loop"] + notes["length"] > 0
    assert max(mark.state for mark in marks) < MOST_STATE / 5
