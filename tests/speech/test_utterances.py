"""Where utterances begin, pause and end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speech.fakes import loud, sound
from turia.speech.recogniser import RATE, Samples
from turia.speech.utterances import LONGEST, Moment, Utterances
from turia.speech.voice import CHUNK

Told = list[tuple[str, float, float]]
"""Moments, with the start and the length of the utterance at each."""


def moments(samples: Samples, chunk: int = RATE) -> tuple[Told, Utterances]:
    utterances = Utterances(loud)
    told: Told = []

    def note(moment: Moment) -> None:
        told.append((moment.value, round(utterances.start, 2), round(len(utterances.sound) / RATE, 2)))

    for begin in range(0, len(samples), chunk):
        for moment in utterances.push(samples[begin : begin + chunk]):
            note(moment)
    for moment in utterances.flush():
        note(moment)
    return told, utterances


def test_silence_has_no_utterance_and_neither_has_a_click() -> None:
    click = sound((0, 2.0))
    click[RATE] = 1.0
    assert moments(sound((0, 5.0)))[0] == []
    assert moments(click)[0] == []


def test_an_utterance_begins_before_its_speech_and_is_decoded_as_it_grows_pauses_and_ends() -> None:
    told, utterances = moments(sound((0, 2.0), (1, 1.2), (0, 2.0)))
    assert [moment for moment, _, _ in told] == ["grown", "grown", "pause", "end"]
    assert {start for _, start, _ in told} == {1.76}
    assert told[-1][2] == pytest.approx(1.2 + 0.2 + 0.6, abs=0.05)
    assert utterances.speech_seconds == pytest.approx(1.2, abs=0.05)


def test_a_short_pause_does_not_end_it() -> None:
    told, _ = moments(sound((1, 1.0), (0, 0.45), (1, 1.0), (0, 1.0)))
    assert [moment for moment, _, _ in told].count("end") == 1
    assert [moment for moment, _, _ in told].count("pause") == 2


def test_the_end_of_the_sound_ends_it() -> None:
    told, _ = moments(sound((1, 1.0)))
    assert told[-1][0] == "end"
    assert told[-1][2] == pytest.approx(1.0, abs=CHUNK / RATE)


def test_a_long_one_is_cut_where_it_is_quiet_and_the_rest_is_not_lost() -> None:
    told, _ = moments(sound((1, 10.0), (0, 0.1), (2, 10.0)))
    (cut,) = [each for each in told if each[0] == "cut"]
    assert cut[2] == pytest.approx(10.05, abs=0.1)
    assert told[-1][0] == "end"
    assert told[-1][1] == pytest.approx(cut[1] + cut[2], abs=0.01)
    assert told[-1][1] + told[-1][2] == pytest.approx(20.1, abs=CHUNK / RATE)


def test_none_is_longer_than_the_longest_though_nobody_ever_pauses() -> None:
    told, _ = moments(sound((1, 60.0)))
    assert max(length for _, _, length in told) <= LONGEST
    assert [moment for moment, _, _ in told].count("cut") >= 5


def test_where_the_speech_is_in_the_utterance_is_known() -> None:
    utterances = Utterances(loud)
    for moment in utterances.push(sound((0, 1.0), (1, 1.0), (0, 1.0))):
        if moment is Moment.PAUSE:
            begin, end = utterances.speech
            assert begin == pytest.approx(0.25, abs=0.05)
            assert end - begin == pytest.approx(1.0, abs=0.05)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4000))
def test_any_chunking_gives_the_same_moments(chunk: int) -> None:
    spoken = sound((0, 0.5), (1, 0.9), (0, 0.4), (3, 0.7), (0, 0.8))
    assert moments(spoken, chunk)[0] == moments(spoken)[0]


def test_what_is_kept_does_not_grow_with_the_sound() -> None:
    utterances = Utterances(loud)
    for _ in range(200):
        list(utterances.push(np.full(RATE, 0.5, np.float32)))
    assert len(utterances.sound) <= LONGEST * RATE
