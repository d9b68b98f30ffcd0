"""The script of a bench: sentences as long as it says, words of one or two pieces, every call counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.fakes import Chaos, fake_model, subwords
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.bench_script import SENTENCE_WORDS, ScriptedBackend, speech
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note, Record, SentenceEnd


def test_speech_is_whole_sentences_of_spoken_words() -> None:
    said = speech(subwords(), 500)
    assert sum(said.lengths) == len(said.words) >= 500
    assert all(SENTENCE_WORDS[0] <= length <= SENTENCE_WORDS[1] for length in said.lengths)
    assert all(word.isalpha() for word in said.words)
    assert said == speech(subwords(), 500)
    assert said != speech(subwords(), 500, seed=2)


def test_three_words_in_ten_have_two_pieces_on_either_side() -> None:
    said = speech(subwords(), 3000)
    counts = [len(subwords().encode_word(word)) for word in said.words]
    assert set(counts) == {1, 2}
    assert counts.count(2) / len(counts) == pytest.approx(0.3, abs=0.03)
    _, backend, _ = translate(Settings(k=3), 1.0, words=300)
    written = sum(call.rows for call in backend.calls if call.kind == "decoder step")
    assert written / 300 == pytest.approx(1.3, abs=0.1)


def translate(settings: Settings, gamma: float, words: int = 140) -> tuple[list[Record], ScriptedBackend, list[int]]:
    model = replace(fake_model(Chaos()), gamma=gamma)
    said = speech(subwords(), words)
    backend = ScriptedBackend(model)
    stream = Stream(replace(model, backend=backend), GivenSegmenter(said.lengths), replace(settings, gamma=gamma))
    return [record for word in said.words for record in stream.push(word)], backend, said.lengths


@pytest.mark.parametrize("gamma", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("anew", [False, True])
def test_sentences_are_as_long_as_the_script_says(gamma: float, anew: bool) -> None:
    """Chaos would end anywhere; the script makes every sentence gamma times as long as its source, and cuts none."""
    settings = Settings(k=3, encoding="full" if anew else "incremental", recompute=anew)
    records, _, lengths = translate(settings, gamma)
    ends = [record for record in records if isinstance(record, SentenceEnd)]
    assert [end.source_words for end in ends] == lengths
    assert [end.target_words for end in ends] == [int(np.ceil(np.float64(gamma) * length)) for length in lengths]
    assert not [record for record in records if isinstance(record, Note)]


def test_calls_are_told_apart() -> None:
    _, backend, lengths = translate(Settings(k=3), 1.0)
    kinds = [call.kind for call in backend.calls]
    assert kinds.count("window") == kinds.count("prefill") == len(lengths)
    # A window of k words begins a sentence; a step for each word after them, the last with its closing symbol.
    assert kinds.count("encoder step") == sum(lengths) - 3 * len(lengths)
    assert all(call.requests == 1 and call.seconds >= 0 for call in backend.calls)
    _, anew, _ = translate(Settings(k=3, encoding="full", recompute=True), 1.0)
    assert {call.kind for call in anew.calls} == {"window", "prefill"}


def test_history_is_in_the_windows() -> None:
    _, backend, _ = translate(Settings(k=3, history=60), 1.0)
    _, without, _ = translate(Settings(k=3, history=0), 1.0)
    rows = [[call.rows for call in one.calls if call.kind == "window"] for one in (backend, without)]
    assert min(rows[0][4:]) > 30 > max(rows[1])
