"""Times of source words: on every record that they lead to, never going back, end to end in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.stream.times import SpokenTimes, SpokenWord, sentence_seconds
from turia.stream.trace import Record, SentenceEnd, Trace, Write, parse_trace, trace_lines


def test_a_write_has_the_time_of_the_last_word_and_a_sentence_those_of_its_own() -> None:
    times = SpokenTimes()
    times.push(SpokenWord("a", 0.0, 0.5))
    assert times.stamp([Write("x", 0, 1, 0, "policy")]) == [Write("x", 0, 1, 0, "policy", read_seconds=0.5)]
    times.push(SpokenWord("b c", 0.5, 1.5))
    assert times.stamp([SentenceEnd(0, 2, 1, "segmenter")]) == [SentenceEnd(0, 2, 1, "segmenter", ends=(0.5, 1.5))]
    times.push(SpokenWord("d"))
    (last,) = times.stamp([SentenceEnd(1, 2, 1, "end")])
    assert last == SentenceEnd(1, 2, 1, "end"), "one of its words has no time"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
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


def test_sentences_lie_end_to_end() -> None:
    assert sentence_seconds([1.0, 2.0, 4.5, 5.0], [2, 1, 1]) == pytest.approx([2.0, 2.5, 0.5])
