"""A decoder of whole recordings as a recogniser of streams."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speech.fakes import LevelDecoder, loud, sound
from turia.speech.recogniser import RATE, Recognised, Restart, Samples
from turia.speech.redecoding import RedecodingRecogniser
from turia.stream.times import SpokenWord

SPOKEN = sound((0, 1.0), (1, 0.7), (2, 0.7), (3, 0.7), (0, 1.0), (4, 0.8), (5, 0.6), (0, 0.5))


def recognise(samples: Samples, chunk: int) -> tuple[list[Recognised], RedecodingRecogniser]:
    recogniser = RedecodingRecogniser(LevelDecoder(), loud)
    heard = [recogniser.push(samples[begin : begin + chunk]) for begin in range(0, len(samples), chunk)]
    return [*heard, recogniser.flush()], recogniser


def final(heard: list[Recognised]) -> list[SpokenWord]:
    return [word for each in heard for word in each.final]


def test_all_words_come_out_once_with_their_times() -> None:
    heard, recogniser = recognise(SPOKEN, 1600)
    words = final(heard)
    assert [word.text for word in words] == ["w1", "w2", "w3", "w4", "w5"]
    assert [word.end for word in words] == pytest.approx([1.7, 2.4, 3.1, 4.9, 5.5], abs=0.05)
    assert [word.start for word in words] == pytest.approx([1.0, 1.7, 2.4, 4.1, 4.9], abs=0.05)
    assert recogniser.certainty == 1.0
    assert recogniser.speech_seconds == pytest.approx(3.5, abs=0.1)
    assert recogniser.language == "en"


def test_words_are_final_before_their_utterance_is_over_and_partial_before_that() -> None:
    heard, _ = recognise(SPOKEN, 1600)
    came = {word.text: 0.1 * number for number, each in enumerate(heard, start=1) for word in each.final}
    assert came["w1"] < 3.1
    guessed = next(0.1 * number for number, each in enumerate(heard, start=1) if each.partial)
    assert guessed < came["w1"]
    assert heard[-1].partial == ()


@settings(max_examples=15, deadline=None)
@given(st.integers(100, 9000))
def test_any_chunking_gives_the_same_words(chunk: int) -> None:
    assert final(recognise(SPOKEN, chunk)[0]) == final(recognise(SPOKEN, len(SPOKEN))[0])


def test_a_speaker_without_a_pause_loses_and_doubles_nothing() -> None:
    spoken = sound(*((1 + number % 9, 0.5) for number in range(80)))
    words = [word.text for word in final(recognise(spoken, 1600)[0])]
    # A word that is cut in two is heard twice: there is no quiet place in this sound.
    assert [word for i, word in enumerate(words) if not i or word != words[i - 1]] == [
        f"w{1 + number % 9}" for number in range(80)
    ]
    assert len(words) <= 80 + 5


def test_times_never_go_back() -> None:
    spoken = sound(*((1 + number % 9, 0.5) for number in range(80)))
    ends = [word.end or 0.0 for word in final(recognise(spoken, 1600)[0])]
    assert ends == sorted(ends)


def test_silence_is_never_decoded() -> None:
    decoder = LevelDecoder()
    recogniser = RedecodingRecogniser(decoder, loud)
    for _ in range(20):
        assert recogniser.push(sound((0, 1.0))) == Recognised()
    assert recogniser.flush() == Recognised()
    assert decoder.lengths == []
    assert recogniser.certainty is None


def test_a_pause_that_becomes_the_end_is_not_decoded_twice() -> None:
    decoder = LevelDecoder()
    recogniser = RedecodingRecogniser(decoder, loud)
    recogniser.push(sound((0, 0.5), (1, 0.4)))
    before = len(decoder.lengths)
    assert [word.text for word in recogniser.push(sound((0, 2.0))).final] == ["w1"]
    assert len(decoder.lengths) == before + 1


@pytest.mark.parametrize("cut", [1.9, 2.6, 3.3, 3.9, 4.4, 5.7])
def test_another_recogniser_goes_on_where_one_was_cut_off(cut: float) -> None:
    """With the sound from `restart` on and the words that were spoken after it, no word is lost or doubled."""
    first = RedecodingRecogniser(LevelDecoder(), loud)
    until = round(cut * RATE)
    words = [
        word for begin in range(0, until, 1600) for word in first.push(SPOKEN[begin : min(until, begin + 1600)]).final
    ]
    restart = first.restart
    settled = [word.text for word in words][len(words) - restart.words :]
    second = RedecodingRecogniser(LevelDecoder(), loud, settled)
    rest = [*second.push(SPOKEN[round(restart.at * RATE) :]).final, *second.flush().final]
    assert [word.text for word in [*words, *rest]] == ["w1", "w2", "w3", "w4", "w5"]
    assert until / RATE - restart.at <= 4.0


def test_words_that_are_not_heard_again_are_not_looked_for() -> None:
    resumed = RedecodingRecogniser(LevelDecoder(), loud, ["w1", "w2"])
    assert resumed.restart == Restart(0.0, 2)
    resumed.push(sound((0, 3.0)))
    assert resumed.restart.words == 0
    assert [word.text for word in [*resumed.push(sound((1, 1.0), (0, 1.0))).final]] == ["w1"]


def test_a_recogniser_in_a_hurry_leaves_out_guesses() -> None:
    decoder = LevelDecoder()
    hurried = RedecodingRecogniser(decoder, loud)
    hurried.hurried = True
    heard = [hurried.push(SPOKEN[begin : begin + 1600]) for begin in range(0, len(SPOKEN), 1600)]
    assert all(not each.partial for each in heard)
    assert [word.text for word in final([*heard, hurried.flush()])] == ["w1", "w2", "w3", "w4", "w5"]
    calm = LevelDecoder()
    recogniser = RedecodingRecogniser(calm, loud)
    recogniser.push(SPOKEN)
    assert len(decoder.lengths) < len(calm.lengths) / 2
