"""What every segmenter promises, whatever it decides by: a fake that decides by chance can be held to it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.delays import stream_delay
from turia.errors import InputError
from turia.segmenter.online import BlockSegmenter, Decision, GivenSegmenter, Reason, ReleasedWord, Segmenter, State
from turia.stream.sentences import offsets


class Scripted(Segmenter):
    """A word's probability is written in it: `7` ends a sentence with probability 0.7, `-` is silent."""

    reason = Reason.SEGMENTER

    def __init__(self, window: int, decision: Decision | None = None, max_words: int | None = 60) -> None:
        super().__init__(window, decision or Decision(), max_words)
        self.seen: list[tuple[str, tuple[str, ...], bool]] = []
        self.count = 0

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        self.seen.append((word, tuple(following), stopped))
        return 0.0 if word == "-" else int(word) / 10

    def _remember(self, word: str | None, ended: bool) -> None:
        self.count += word is not None

    def _begin(self) -> None:
        self.count = 0

    def _own_state(self) -> State:
        return {"count": self.count}

    def _restore_own(self, state: State) -> None:
        self.count = state["count"]


PAUSE = "pause"
words = st.sampled_from("0123456789-")
streams = st.lists(words, max_size=80)
inputs = st.lists(words | st.just(PAUSE), max_size=80)
windows = st.integers(0, 4)
falling = st.lists(st.floats(0, 1), max_size=8).map(lambda values: Decision(0.5, (0.0, *values)))
limits = st.none() | st.integers(1, 12)


def feed(segmenter: Segmenter, stream: Sequence[str]) -> list[ReleasedWord]:
    visible = []
    for word in stream:
        visible += segmenter.push_pause() if word == PAUSE else segmenter.push(word)
    return visible


def sentence_lengths(visible: Sequence[ReleasedWord]) -> list[int]:
    lengths, length = [], 0
    for item in visible:
        length += item.word is not None
        if item.ends_sentence:
            lengths.append(length)
            length = 0
    assert length == 0, "the stream ended inside a sentence"
    return lengths


@example(window=0, decision=Decision(), limit=1, stream=["0", "0"])
@given(windows, falling, limits, inputs)
def test_words_come_out_once_each_in_order_and_none_is_missing(
    window: int, decision: Decision, limit: int | None, stream: list[str]
) -> None:
    segmenter = Scripted(window, decision, limit)
    visible = feed(segmenter, stream) + segmenter.flush()
    assert [item.word for item in visible if item.word is not None] == [word for word in stream if word != PAUSE]
    lengths = sentence_lengths(visible)
    assert all(1 <= length <= (limit or len(stream)) for length in lengths)


@given(windows, falling, limits, streams)
def test_output_lags_exactly_w_words(window: int, decision: Decision, limit: int | None, stream: list[str]) -> None:
    segmenter = Scripted(window, decision, limit)
    for pushed, word in enumerate(stream, start=1):
        out = segmenter.push(word)
        expected = [] if pushed <= window else [stream[pushed - window - 1]]
        assert [item.word for item in out] == expected


@given(windows, falling, limits, inputs, st.integers(0, 80))
def test_a_restored_state_goes_on_identically(
    window: int, decision: Decision, limit: int | None, stream: list[str], cut: int
) -> None:
    whole, first, second = (Scripted(window, decision, limit) for _ in range(3))
    expected = feed(whole, stream) + whole.flush()
    begun = feed(first, stream[:cut])
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + feed(second, stream[cut:]) + second.flush() == expected


@given(windows, limits, streams)
def test_after_flush_a_segmenter_is_as_new(window: int, limit: int | None, stream: list[str]) -> None:
    segmenter = Scripted(window, max_words=limit)
    fresh = segmenter.state()
    once = feed(segmenter, stream) + segmenter.flush()
    assert segmenter.state() == fresh
    assert feed(segmenter, stream) + segmenter.flush() == once


@given(windows, streams)
def test_the_classifier_is_asked_with_the_w_following_words(window: int, stream: list[str]) -> None:
    segmenter = Scripted(window)
    feed(segmenter, stream)
    segmenter.flush()
    for position, (word, following, stopped) in enumerate(segmenter.seen):
        assert word == stream[position]
        assert list(following) == stream[position + 1 : position + 1 + window]
        assert stopped == (position + window >= len(stream))


def test_a_forced_split_takes_the_best_place_it_passes_not_the_limit() -> None:
    # With 3, 2 and 1 words left before the limit of 6, 0.3, 0.2 and 0.1 suffice.
    decision = Decision(0.5, (0.0, 0.1, 0.2, 0.3))
    segmenter = Scripted(0, decision, max_words=6)
    visible = feed(segmenter, ["4", "4", "3", "0", "0", "0", "0", "0", "0", "0", "0", "0", "6"])
    ends = [(number, item.reason) for number, item in enumerate(visible) if item.ends_sentence]
    assert ends == [(2, Reason.FORCED), (8, Reason.FORCED), (12, Reason.SEGMENTER)]


def test_a_sentence_of_silent_words_is_cut_at_the_limit_too() -> None:
    visible = feed(Scripted(1, max_words=3), ["-"] * 7)
    assert [item.reason for item in visible] == [None, None, Reason.FORCED] * 2


def test_a_pause_brings_all_words_out_and_closes_at_the_newest() -> None:
    segmenter = Scripted(2)
    assert feed(segmenter, ["0", "9", "0"]) == [ReleasedWord("0")]
    assert segmenter.push_pause() == [ReleasedWord("9", Reason.SEGMENTER), ReleasedWord("0", Reason.PAUSE)]
    assert segmenter.push_pause() == []
    assert feed(segmenter, ["1", "2", "3"]) == [ReleasedWord("1")]


def test_a_word_that_is_out_already_is_closed_without_being_given_again() -> None:
    segmenter = Scripted(0)
    assert segmenter.push("0") == [ReleasedWord("0")]
    assert segmenter.push_pause() == [ReleasedWord(None, Reason.PAUSE)]
    assert segmenter.push("9") == [ReleasedWord("9", Reason.SEGMENTER)]
    assert segmenter.flush() == []
    assert segmenter.push("0") == [ReleasedWord("0")]
    assert segmenter.flush() == [ReleasedWord(None, Reason.END)]


@given(windows, st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 6))
def test_delays_behind_a_segmenter_are_those_of_method_5(window: int, lengths: list[int], k: int) -> None:
    """Reading what is visible, wait-k on top: d = min(|X|, w + A[n] + min(k + t - 1, |x_n|)), also for silent words."""
    stream = [word for length in lengths for word in ["-"] * (length - 1) + ["9"]]
    segmenter = GivenSegmenter(lengths, window)
    visible_when = [read for read, word in enumerate(stream, start=1) for _ in segmenter.push(word)]
    visible_when += [len(stream)] * len([item for item in segmenter.flush() if item.word is not None])
    for start, length in zip(offsets(lengths), lengths, strict=False):
        for t in range(1, length + 1):
            needed = min(k + t - 1, length)
            delay = stream_delay(t, k, start, length, len(stream), window=window)
            assert visible_when[start + needed - 1] == delay


@given(windows, st.lists(st.integers(1, 9), max_size=12))
def test_given_sentences_come_out_as_given(window: int, lengths: list[int]) -> None:
    segmenter = GivenSegmenter(lengths, window)
    visible = feed(segmenter, ["x"] * sum(lengths)) + segmenter.flush()
    assert sentence_lengths(visible) == lengths


def test_the_last_given_word_ends_the_stream_also_at_a_pause() -> None:
    segmenter = GivenSegmenter([2, 1], 1)
    visible = feed(segmenter, ["a", "b", "c", PAUSE])
    assert [item.reason for item in visible] == [None, Reason.GIVEN, Reason.END]


def test_a_pause_does_not_move_the_given_ends() -> None:
    segmenter = GivenSegmenter([3, 1])
    visible = feed(segmenter, ["a", "b", PAUSE, "c", "d"])
    reasons = [None, None, Reason.PAUSE, Reason.GIVEN, Reason.END]
    assert [item.reason for item in visible] == reasons


def test_more_words_than_given_are_refused() -> None:
    segmenter = GivenSegmenter([2])
    with pytest.raises(InputError, match="more words than the 2"):
        feed(segmenter, ["a", "b", "c"])


def test_a_state_of_another_segmenter_is_refused() -> None:
    state = GivenSegmenter([2], window=1).state()
    with pytest.raises(InputError, match="kind 'given', but this segmenter's is 'segmenter'"):
        Scripted(1).restore(state)
    with pytest.raises(InputError, match="window 1, but this segmenter's is 0"):
        GivenSegmenter([2]).restore(state)
    del state["pending"]
    with pytest.raises(InputError, match="without the key 'pending'"):
        GivenSegmenter([2], window=1).restore(state)


@pytest.mark.parametrize(("window", "limit"), [(-1, 60), (0, 0)])
def test_impossible_settings_are_refused(window: int, limit: int) -> None:
    with pytest.raises(InputError):
        Scripted(window, max_words=limit)


def test_blocks_are_cut_after_so_many_words_and_saved_in_between() -> None:
    segmenter = BlockSegmenter(3)
    found = [segmenter.push(word)[0].reason for word in "abcd"]
    assert found == [None, None, Reason.FORCED, None]
    restored = BlockSegmenter(3)
    restored.restore(segmenter.state())
    assert [restored.push(word)[0].reason for word in "ef"] == [None, Reason.FORCED]
    restored.push("g")
    assert restored.flush() == [ReleasedWord(None, Reason.END)]
