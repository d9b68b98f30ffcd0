"""The engine on the real runtime: random weights in int8, and the models that ship, if any do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate, product
from pathlib import Path

import pytest

from tests.delays import stream_delay
from tests.engine.fakes import run
from turia.config import Encoder
from turia.engine.batcher import run_together
from turia.engine.stream import Stream
from turia.errors import InputError, ModelError
from turia.export.random_model import made_up_words, write_random_folder
from turia.runtime.home import packaged_models
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note, Record, SentenceEnd, Write

LENGTHS = [9, 4, 12, 1, 7]
WORDS = made_up_words()[: sum(LENGTHS)]
SPEECH = {
    "de": "meine damen und herren ich danke ihnen für ihre aufmerksamkeit wir müssen heute über den haushalt der union "
    "sprechen das ist keine leichte aufgabe aber sie ist notwendig denn die bürger erwarten von uns antworten",
    "en": "ladies and gentlemen thank you for your attention today we must speak about the budget of the union this is "
    "not an easy task but it is necessary because the citizens expect answers from us",
}


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = tmp_path_factory.mktemp("tiny")
    write_random_folder(folder, "tiny", "int8", vocabulary=500)
    return Translator.load(folder)


def check_delays(records: Sequence[Record], words: int, k: int, gamma: float, window: int) -> int:
    """Words of the policy, each of which must have the delay of METHOD section 5."""
    lengths = [record.source_words for record in records if isinstance(record, SentenceEnd)]
    assert sum(lengths) == words
    starts = [0, *accumulate(lengths)]
    found, number = 0, dict[int, int]()
    for record in records:
        if isinstance(record, Write):
            n = record.sentence
            t = number[n] = number.get(n, 0) + 1
            if record.reason == "policy":
                assert record.read == stream_delay(t, k, starts[n], lengths[n], words, gamma, window)
                found += 1
    return found


@pytest.mark.parametrize(("k", "gamma", "window"), list(product((1, 3, 6), (0.8, 1.0, 1.24), (0, 2, 4))))
def test_delays_are_those_of_the_method(translator: Translator, k: int, gamma: float, window: int) -> None:
    stream = translator.stream(k=k, gamma=gamma, segmenter=GivenSegmenter(LENGTHS, window))
    assert check_delays(run(stream, WORDS), len(WORDS), k, gamma, window) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", packaged_models())
def test_delays_of_the_models_that_ship(name: str) -> None:
    translator = Translator.load(name)
    words = SPEECH[translator.config.source_language].split()
    for k, gamma, window in product((1, 4), (0.9, 1.2), (0, 2)):
        records = run(translator.stream(k=k, gamma=gamma, window=window), words)
        assert check_delays(records, len(words), k, gamma, window) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoder", "chosen"),
    [
        ("pbe", {}),
        ("pbe", {"encoding": "full"}),
        ("pbe", {"recompute": True}),
        ("pbe", {"beam": 2}),
        ("unidirectional", {}),
        ("bidirectional", {"beam": 2}),
    ],
)
def test_restored_anywhere_it_goes_on_with_the_same_words(
    translator: Translator, encoder: Encoder, chosen: dict[str, object]
) -> None:
    translator = copy(translator)
    translator.model = replace(translator.model, encoder=encoder)  # a mask, and no other weights

    def begin() -> Stream:
        return translator.stream(k=2, segmenter=GivenSegmenter(LENGTHS, 1), **chosen)  # type: ignore[arg-type]

    expected = run(begin(), WORDS)
    for stop in (4, 15):
        stream = begin()
        before = [record for word in WORDS[:stop] for record in stream.push(word)]
        state = json.loads(json.dumps(stream.state()))
        assert before + run(translator.restore(state, GivenSegmenter(LENGTHS, 1)), WORDS[stop:]) == expected


def test_a_restored_stream_has_the_limit_of_its_sentences(translator: Translator) -> None:
    stream = translator.stream(k=2, punctuation=True, max_words=5)
    expected = run(translator.stream(k=2, punctuation=True, max_words=5), WORDS)
    before = [record for word in WORDS[:3] for record in stream.push(word)]
    restored = translator.restore(json.loads(json.dumps(stream.state())))
    assert restored.segmenter.max_words == 5
    assert before + run(restored, WORDS[3:]) == expected


@pytest.mark.slow
def test_together_streams_get_the_words_that_they_get_alone(translator: Translator) -> None:
    def begin(number: int) -> Stream:
        return translator.stream(k=1 + number % 3, segmenter=GivenSegmenter([*LENGTHS[number % 4 :], 99]))

    speeches = [WORDS[number : number + 12] for number in range(11)]
    alone = [run(begin(number), words) for number, words in enumerate(speeches)]
    streams, backend = [begin(number) for number in range(11)], translator.model.backend
    together: list[list[Record]] = [[] for _ in speeches]
    for turn in range(12):
        steps = [stream.push_steps(words[turn]) for stream, words in zip(streams, speeches, strict=True)]
        for records, new in zip(together, run_together(steps, backend), strict=True):
            records += new
    for records, new in zip(together, run_together([stream.flush_steps() for stream in streams], backend), strict=True):
        records += new
    assert together == alone


def test_a_word_that_fills_a_small_model_breaks_nothing(tmp_path: Path) -> None:
    """128 positions, a history that takes half of them, and a word of more pieces than the other half has."""
    write_random_folder(tmp_path, "tiny", "int8", vocabulary=500, max_positions=128)
    translator = Translator.load(tmp_path)
    stream = translator.stream(k=1, history=60, segmenter=GivenSegmenter([6, 6, 6, 6, 6, 99]))
    words = [*WORDS[:30], "q" * 150, *WORDS[:3]]
    records = run(stream, words)
    assert stream.read == len(words)
    assert "long-word" in [record.kind for record in records if isinstance(record, Note)]
    assert len(translator.model.source_subwords.encode_word("q" * 150)) > 63


def test_a_model_without_room_is_refused(tmp_path: Path) -> None:
    write_random_folder(tmp_path, "tiny", "int8", vocabulary=500, max_positions=83)
    with pytest.raises(ModelError, match="83 positions; a stream needs 84"):
        Translator.load(tmp_path)


def test_arguments_that_make_no_sense_are_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match="streams is '4', expected a whole number"):
        Translator.load(translator.folder, streams="4")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="choose one of them for the sentence ends"):
        translator.stream(punctuation=True, segmenter=GivenSegmenter([3]))


def test_what_was_loaded_for_many_streams_needs_no_file_any_more(tmp_path: Path) -> None:
    """A caption must not wait until a graph is read because somebody else has begun to speak."""
    write_random_folder(tmp_path, "tiny", "int8", vocabulary=500)
    few, many = (Translator.load(tmp_path, streams=streams, kernels="onnx") for streams in (1, 5))
    for graph in tmp_path.glob("*.onnx"):
        graph.unlink()

    def speak(translator: Translator) -> list[list[Record]]:
        streams = [translator.stream(k=1, segmenter=GivenSegmenter(LENGTHS)) for _ in range(5)]
        return run_together([stream.push_steps(WORDS[0]) for stream in streams], translator.model.backend)

    assert [len(records) for records in speak(many)] == [1] * 5
    with pytest.raises(ModelError, match=r"-x4\.onnx: no such file"):
        speak(few)


def test_a_folder_is_no_place_for_a_typing_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model 'de-em': it is no folder, and the installed models are: "):
        Translator.load("de-em")
    with pytest.raises(ModelError, match=r"config\.json: no such file; expected a model folder"):
        Translator.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"), [("max_words", "60"), ("max_words", 0), ("window", [2]), ("window", "2"), ("kind", [])]
)
def test_a_state_of_no_segmenter_is_refused(translator: Translator, name: str, value: object) -> None:
    state = translator.stream(window=1, punctuation=True).state()
    state["segmenter"][name] = value
    with pytest.raises(InputError):
        translator.restore(state)
    with pytest.raises(InputError, match="not the state of a stream"):
        translator.restore(state | {"segmenter": [name]})
