"""Times of source words: on every record that they lead to, never going back, end to end in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.stream.times import DAY, SpokenTimes, SpokenWord, sentence_times
from turia.stream.trace import Note, Record, SentenceEnd, Trace, Write, parse_trace, trace_lines


def test_a_write_has_the_time_of_the_last_word_and_a_sentence_those_of_its_own() -> None:
    times = SpokenTimes()
    times.push(SpokenWord("a", 0.0, 0.5))
    assert times.stamp([Write("x", 0, 1, 0, "policy")]) == [Write("x", 0, 1, 0, "policy", read_seconds=0.5)]
    times.push(SpokenWord("b c", 0.5, 1.5))
    assert times.stamp([SentenceEnd(0, 2, 1, "segmenter")]) == [SentenceEnd(0, 2, 1, "segmenter", ends=(0.5, 1.5))]
    times.push(SpokenWord("d"))
    (last,) = times.stamp([SentenceEnd(1, 2, 1, "end")])
    assert last == SentenceEnd(1, 2, 1, "end"), "one of its words has no time"


@given(st.lists(st.floats(0, DAY), min_size=1, max_size=30))
def test_times_never_go_back_and_round_trip(ends: list[float]) -> None:
    times, records = SpokenTimes(), list[Record]()
    for index, end in enumerate(ends):
        times.push(SpokenWord("w", None, end))
        records += times.stamp([Write("x", index, index + 1, 0, "policy")])
    records += times.stamp([SentenceEnd(0, len(ends), len(ends), "end")])
    trace = parse_trace(list(trace_lines(Trace({}, tuple(records)))))
    kept = trace.source_ends()
    assert kept == trace.delays_in_seconds() == sorted(kept or [])
    assert kept is not None
    assert kept[-1] == max(ends)


@pytest.mark.parametrize("start", [None, 1_763_000_000.25])
def test_a_clock_that_counts_from_1970_begins_at_the_first_word_and_the_trace_keeps_it(start: float | None) -> None:
    times = SpokenTimes()
    times.push(SpokenWord("a"))
    assert times.stamp([SentenceEnd(0, 1, 0, "segmenter")]) == [SentenceEnd(0, 1, 0, "segmenter")]
    times.push(SpokenWord("b", start, 1_763_000_000.75))
    began, first = (1_763_000_000.25, 0.5) if start else (1_763_000_000.75, 0.0)
    assert times.stamp([Write("x", 0, 2, 1, "policy")]) == [
        Note("clock", 1, f"0 is {began} of the recogniser's clock"),
        Write("x", 0, 2, 1, "policy", read_seconds=first),
    ]
    times.push(SpokenWord("c", 1_763_000_001.0, 1_763_000_001.8))
    assert times.stamp([SentenceEnd(1, 2, 1, "end")]) == [SentenceEnd(1, 2, 1, "end", ends=(first, first + 1.05))]
    assert times.before_beginning == 0


def test_a_stream_that_lasts_for_days_keeps_its_clock() -> None:
    times = SpokenTimes()
    for end in (DAY, 3 * DAY):
        times.push(SpokenWord("w", end - 1, end))
    assert times.stamp([Write("x", 0, 2, 0, "policy")]) == [Write("x", 0, 2, 0, "policy", read_seconds=3 * DAY)]


def test_times_before_the_beginning_are_taken_for_it_and_counted() -> None:
    times = SpokenTimes()
    for end in (-1e9, -0.1, 0.0, 0.5):
        times.push(SpokenWord("w", end - 1, end))
    (ended,) = times.stamp([SentenceEnd(0, 4, 0, "end")])
    assert ended == SentenceEnd(0, 4, 0, "end", ends=(0.0, 0.0, 0.0, 0.5))
    assert times.before_beginning == 2


def test_sentences_lie_end_to_end() -> None:
    assert sentence_times([10, 20, 45, 50], [2, 1, 1]) == [20, 25, 5]
