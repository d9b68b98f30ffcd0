"""Threads that recognise the sound of many speakers."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.speech.fakes import LevelDecoder, loud, sound
from turia.speech.recogniser import RATE, Recognised, Samples
from turia.speech.redecoding import RedecodingRecogniser
from turia.speech.worker import FIRST_FACTOR, Load, RecogniserPool, SpokenStream, StreamReport
from turia.stream.times import SpokenWord

SPOKEN = sound((0, 0.5), (1, 0.7), (2, 0.7), (0, 1.0), (3, 0.8), (0, 0.5))


def make(settled: Sequence[str]) -> RedecodingRecogniser:
    return RedecodingRecogniser(LevelDecoder(), loud, settled)


class Broken(RedecodingRecogniser):
    def push(self, samples: Samples) -> Recognised:
        raise ValueError("geheimnis")


class Reports:
    """What the threads report, in order."""

    def __init__(self) -> None:
        self._queue: queue.Queue[StreamReport] = queue.Queue()
        self.all: list[StreamReport] = []

    def __call__(self, report: StreamReport) -> None:
        self._queue.put(report)

    def until_over(self, *streams: SpokenStream) -> None:
        left = set(streams)
        while left:
            report = self._queue.get(timeout=60)
            self.all.append(report)
            if report.over:
                left.discard(report.stream)

    def words(self, stream: SpokenStream) -> list[str]:
        own = [report for report in self.all if report.stream is stream]
        return [item.text for report in own for item in report.heard if isinstance(item, SpokenWord)]


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def pool(reports: Reports) -> Iterator[RecogniserPool]:
    running = RecogniserPool(reports, threads=2)
    running.start()
    yield running
    running.stop()


def test_speakers_are_heard_side_by_side(pool: RecogniserPool, reports: Reports) -> None:
    streams = [SpokenStream(make) for _ in range(5)]
    for stream in streams:
        pool.begin(stream)
        pool.push(stream, SPOKEN)
        pool.end(stream)
    assert pool.streams == 5
    reports.until_over(*streams)
    for stream in streams:
        assert reports.words(stream) == ["w1", "w2", "w3"]
        pool.drop(stream)
    assert pool.streams == 0
    last = next(report for report in reversed(reports.all) if report.stream is streams[0])
    assert (last.taken, last.over, last.failed) == (len(SPOKEN), True, False)


def test_a_minute_at_once_is_done_in_half_seconds(pool: RecogniserPool, reports: Reports) -> None:
    stream = SpokenStream(make)
    pool.begin(stream)
    pool.push(stream, np.zeros(10 * RATE, np.float32))
    pool.end(stream)
    reports.until_over(stream)
    assert [report.taken for report in reports.all] == [RATE // 2 * count for count in range(1, 21)]


def test_a_recogniser_that_fails_harms_nobody_else_and_tells_no_words(
    pool: RecogniserPool, reports: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound_one = SpokenStream(lambda settled: Broken(LevelDecoder(), loud)), SpokenStream(make)
    for stream in (broken, sound_one):
        pool.begin(stream)
        pool.push(stream, SPOKEN)
        pool.end(stream)
    reports.until_over(broken, sound_one)
    assert reports.words(sound_one) == ["w1", "w2", "w3"]
    assert [report.failed for report in reports.all if report.stream is broken] == [True]
    assert "a recogniser failed: ValueError" in caplog.text
    assert "geheimnis" not in caplog.text


def test_what_nobody_wants_is_not_recognised(pool: RecogniserPool, reports: Reports) -> None:
    gone, other = SpokenStream(make), SpokenStream(make)
    pool.begin(gone)
    pool.begin(other)
    pool.drop(gone)
    pool.push(other, SPOKEN)
    pool.end(other)
    reports.until_over(other)
    assert {report.stream for report in reports.all} == {other}
    assert pool.streams == 1


def test_places_follow_what_speech_costs() -> None:
    load = Load()
    assert load.factor == FIRST_FACTOR
    assert load.places(1) == 2
    for factor in (0.125, 0.125):
        load.measured(factor)
    assert (load.places(1), load.places(4)) == (5, 22)
    for _ in range(50):
        load.measured(2.0)
    assert load.places(1) == 1, "one speaker is heard, however slow the machine"


def test_the_cost_of_speech_is_measured_and_that_of_silence_is_not(reports: Reports) -> None:
    times = iter(range(10_000))
    # Each look at the clock is a second later: a round takes one.
    running = RecogniserPool(reports, clock=lambda: float(next(times)))
    running.start()
    speaks, rests = SpokenStream(make), SpokenStream(make)
    for stream, samples in ((rests, sound((0, 40.0))), (speaks, sound(*[(1, 0.5), (2, 0.5)] * 40))):
        running.begin(stream)
        running.push(stream, samples)
        running.end(stream)
        reports.until_over(stream)
        if stream is rests:
            assert running.load.factor == FIRST_FACTOR
    assert running.load.factor == pytest.approx(2.0)
    running.stop()
