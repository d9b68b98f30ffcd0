"""Latency: figures worked by hand, figures of other people's scorers, and what must always hold."""

from __future__ import annotations

from itertools import accumulate
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.delays import stream_delay
from turia.evaluation import latency
from turia.evaluation.latency import mean

# Five sentences: words written late and early, a hypothesis without words, a reference without words, and words after
# the end of the stream.
SOURCE = [4, 3, 5, 2, 6]
REFERENCE = [4, 2, 6, 0, 5]
TARGET = [5, 2, 0, 3, 6]
DELAYS = [2, 3, 4, 5, 6, 6, 7, 12, 13, 14, 14, 15, 17, 19, 20, 20]


@st.composite
def streams(draw: st.DrawFn, min_sentences: int = 1) -> tuple[list[int], list[int], list[int]]:
    """Delays, source lengths, target lengths."""
    sentences = draw(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), min_size=min_sentences, max_size=8))
    source, target = [pair[0] for pair in sentences], [pair[1] for pair in sentences]
    words = sum(target)
    delays = draw(st.lists(st.integers(0, sum(source)), min_size=words, max_size=words))
    return sorted(delays), source, target


def test_a_stream_worked_by_hand() -> None:
    # x = 2, 4 and y = 2, 1 words: paces 1 and 4.
    delays, source, target = [1, 3, 6], [2, 4], [2, 1]
    assert latency.stream_ap(delays, source, target) == [(1 + 3) / 4, 4 / 4]
    # The second word is written with the first sentence read: tau = 2.
    assert latency.stream_al(delays, source, target) == [(1 + (3 - 1)) / 2, 4]
    # g' = 1, max(3, 1 + s), max(6, 3 + s): the step into a sentence has the pace of the one before.
    assert latency.stream_dal(delays, source, target, scale=1.0) == [(1 + 2) / 2, 4]
    assert latency.stream_dal(delays, source, target, scale=4.0) == [(1 + (5 - 1)) / 2, 9 - 2]


def test_al_stops_at_the_first_word_after_the_end_of_the_sentence() -> None:
    assert latency.stream_al([2, 2, 9], [2, 9], [3, 0]) == [2, 0]


def test_a_sentence_without_words_counts_as_nothing_and_stays_in_the_mean() -> None:
    delays, source, target = [3, 3, 3], [3, 3], [3, 0]
    assert latency.stream_ap(delays, source, target) == [1, 0]
    assert latency.stream_al(delays, source, target) == [3, 0]
    assert latency.stream_dal(delays, source, target) == pytest.approx([3 - 0.15, 0])


def test_after_a_sentence_without_words_dal_goes_on_where_it_was() -> None:
    # The authors' scripts take the last g', 5, for the first word, whose real delay is 9.
    scores = latency.stream_dal([3, 3, 3, 9, 9, 9], [3, 3, 3], [3, 0, 3], scale=1.0)
    assert scores == [3, 0, ((5 - 6) + (9 - 7) + (10 - 8)) / 3]


def test_the_first_word_of_a_stream_has_no_predecessor_even_in_its_second_sentence() -> None:
    assert latency.stream_dal([5, 5], [2, 3], [0, 2], scale=0.0) == [0, ((5 - 2) + (5 - 2 - 1.5)) / 2]


def test_other_peoples_scorers_give_the_same_figures() -> None:
    """Recorded from simuleval 1.1.4, simulstream 1.0.0 and omnisteval 0.1.10 on this very log."""
    relative = latency.sentence_delays(DELAYS, SOURCE, TARGET)
    written = [triple for triple in zip(relative, SOURCE, REFERENCE, strict=True) if triple[0]]
    assert mean([latency.sentence_ap(*triple) for triple in written]) == pytest.approx(1.0708333333333333)
    assert mean([latency.sentence_al(*triple) for triple in written]) == pytest.approx(0.8375)
    assert mean([latency.sentence_laal(*triple) for triple in written]) == pytest.approx(1.3208333333333333)
    assert mean([latency.sentence_dal(own, source) for own, source, _ in written]) == pytest.approx(1.475)
    assert mean(latency.stream_laal(DELAYS, SOURCE, TARGET, REFERENCE)) == pytest.approx(1.3208333333333333)
    assert mean(latency.stream_yaal(DELAYS, SOURCE, TARGET, REFERENCE)) == pytest.approx(1.3083333333333333)
    yaal = [latency.sentence_yaal(*triple, end=triple[1]) for triple in written]
    assert mean([score for score in yaal if score is not None]) == pytest.approx(1.2541666666666667)


def test_yaal_of_a_sentence_written_after_its_end_does_not_exist() -> None:
    assert latency.sentence_yaal([4, 4], 4, 2, end=4) is None
    assert latency.sentence_yaal([], 4, 2, end=4) is None
    assert latency.stream_yaal([4, 4], [4], [2], [2]) == []
    assert isnan(mean([]))


@pytest.mark.parametrize("k", [1, 3, 7])
def test_a_wait_k_stream_lags_k_words(k: int) -> None:
    """At one target word a source word, wait-k lags k words in every sentence, at stream level too."""
    lengths = [10, 8, 12, 9]
    starts = list(accumulate(lengths, initial=0))
    delays = [
        stream_delay(t, k, start, words, sum(lengths))
        for start, words in zip(starts, lengths, strict=False)
        for t in range(1, words + 1)
    ]
    assert latency.stream_al(delays, lengths, lengths) == pytest.approx([k] * 4)
    relative = latency.sentence_delays(delays, lengths, lengths)
    laal = [latency.sentence_laal(own, words, words) for own, words in zip(relative, lengths, strict=True)]
    assert laal == pytest.approx([k] * 4)


@settings(deadline=None)
@given(streams())
def test_a_sentence_is_a_stream_of_one(stream: tuple[list[int], list[int], list[int]]) -> None:
    delays, source, target = stream
    ap, al = latency.stream_ap(*stream), latency.stream_al(*stream)
    relative = latency.sentence_delays(delays, source, target)
    for own, length, one_ap, one_al in zip(relative, source, ap, al, strict=True):
        assert latency.stream_ap(own, [length], [len(own)]) == pytest.approx([one_ap])
        assert latency.stream_al(own, [length], [len(own)]) == pytest.approx([one_al])
        if own:
            # With a reference as long as the hypothesis, the sentence-level conventions agree with the authors'.
            assert latency.sentence_ap(own, length, len(own)) == pytest.approx(one_ap)
            assert latency.sentence_al(own, length, len(own)) == pytest.approx(one_al)
            assert latency.sentence_laal(own, length, len(own)) == pytest.approx(one_al)


@settings(deadline=None)
@given(streams())
def test_nothing_is_gained_by_waiting(stream: tuple[list[int], list[int], list[int]]) -> None:
    """With every word one source word later, AP and DAL of no sentence fall."""
    delays, source, target = stream
    later = [delay + 1 for delay in delays]
    for function in (latency.stream_ap, latency.stream_dal):
        for now, then in zip(function(delays, source, target), function(later, source, target), strict=True):
            assert then >= now - 1e-9


@settings(deadline=None)
@given(streams(), st.floats(0, 1))
def test_a_larger_step_never_lowers_dal(stream: tuple[list[int], list[int], list[int]], scale: float) -> None:
    delays, source, target = stream
    scaled = latency.stream_dal(delays, source, target, scale)
    for smaller, larger in zip(scaled, latency.stream_dal(delays, source, target, 1.0), strict=True):
        assert smaller <= larger + 1e-9


@settings(deadline=None)
@given(streams(), st.integers(1, 5))
def test_the_unit_of_time_scales_lagging_and_not_proportion(
    stream: tuple[list[int], list[int], list[int]], factor: int
) -> None:
    delays, source, target = stream
    slow = [delay * factor for delay in delays], [length * factor for length in source], target
    assert latency.stream_ap(*slow) == pytest.approx(latency.stream_ap(*stream))
    for function in (latency.stream_al, latency.stream_dal):
        assert function(*slow) == pytest.approx([factor * score for score in function(*stream)])
