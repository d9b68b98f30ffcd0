"""Threads that recognise the sound of many speakers, beside whatever else a program does.

Each speaker stays with one thread. In each round every speaker who has sound waiting gets at most half a second of it
done, so that one who sends a minute at once does not hold up the others. The heavy work is done by libraries that let
other threads run meanwhile. A recogniser that fails is reported and harms nobody else. Sound is kept until it is
recognised, and no longer.

`Load` tells what one speaker costs: the caller takes no more of them than the threads hold.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from turia.speech.check import Complaint
from turia.speech.choice import RecogniserFactory
from turia.speech.hearing import Hearing
from turia.speech.recogniser import RATE, Restart, Samples
from turia.stream.times import Heard

ROUND = RATE // 2
"""Samples of a speaker that are done in one round."""
LATE = RATE
"""Samples of a speaker that wait when the recogniser is to hurry."""
SHARE = 0.7
"""Of its time in which a thread works when all places are taken."""
FIRST_FACTOR = 0.35
"""Seconds of work for a second of speech, as long as nobody has measured it: Moonshine's, on a slow machine."""
WINDOW_SECONDS, WINDOWS, FEWEST_WINDOWS = 10.0, 50, 2
"""The work is measured over so much sound at a time; the last so many windows count, once there are so few."""
log = logging.getLogger("turia.speech")


class Load:
    """Estimates what a second of speech costs from what it has cost so far. Silence costs less and is not counted."""

    def __init__(self) -> None:
        self._factors: deque[float] = deque(maxlen=WINDOWS)

    def measured(self, factor: float) -> None:
        """The work of a window of speech, by its length."""
        self._factors.append(factor)

    @property
    def factor(self) -> float:
        """Seconds of work for a second of speech: nine of ten windows cost no more."""
        if len(self._factors) < FEWEST_WINDOWS:
            return FIRST_FACTOR
        return sorted(self._factors)[int(0.9 * (len(self._factors) - 1))]

    def places(self, threads: int) -> int:
        """Speakers that so many threads hold; at least one."""
        return max(1, int(threads * SHARE / max(self.factor, 1e-3)))


@dataclass(eq=False)
class SpokenStream:
    """The sound of one speaker. The fields with underscores belong to the thread."""

    make: RecogniserFactory
    settled: Sequence[str] = ()
    """Words at its beginning that are final already."""
    pause: float = 0.0
    """Seconds of silence that close a sentence; 0 for none."""
    _hearing: Hearing | None = None
    _waiting: deque[Samples] = field(default_factory=deque)
    _taken: int = 0
    _ends: bool = False
    _dropped: bool = False
    _window: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of the window that is measured now: seconds of work, of sound, and speech before it."""


@dataclass(frozen=True)
class StreamReport:
    """How far a stream is."""

    stream: SpokenStream
    taken: int
    """Samples that were recognised."""
    restart: Restart = field(default_factory=Restart)
    heard: tuple[Heard, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    work: float = 0.0
    """Seconds that this took."""
    over: bool = False
    failed: bool = False
    """Its recogniser has failed; nothing more comes."""


Report = Callable[[StreamReport], None]


class RecogniserThread:
    """One thread. `report` is called in it."""

    def __init__(self, report: Report, load: Load, clock: Callable[[], float] = time.perf_counter) -> None:
        self.streams = 0
        """Open streams; counted by the caller's thread."""
        self._report, self._load, self._clock = report, load, clock
        self._arrived: queue.SimpleQueue[tuple[SpokenStream, Samples | None] | None] = queue.SimpleQueue()
        self._busy: dict[int, SpokenStream] = {}
        self._thread = threading.Thread(target=self._run, name="turia-recogniser", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def push(self, stream: SpokenStream, samples: Samples) -> None:
        self._arrived.put((stream, samples))

    def end(self, stream: SpokenStream) -> None:
        """Ends the sound of the stream. What is left is recognised and reported."""
        self._arrived.put((stream, None))

    def drop(self, stream: SpokenStream) -> None:
        """Drops the stream: nobody wants the rest."""
        stream._dropped = True

    def stop(self) -> None:
        """Ends at once: whoever speaks keeps the sound that is not recognised."""
        self._arrived.put(None)
        self._thread.join()

    def _run(self) -> None:
        while self._collect():
            for stream in list(self._busy.values()):
                self._do(stream)

    def _collect(self) -> bool:
        """Takes what has arrived, waiting for something if there is nothing to do; False when it is to stop."""
        wait = not self._busy
        while True:
            try:
                item = self._arrived.get(block=wait)
            except queue.Empty:
                return True
            if item is None:
                return False
            wait = False
            stream, samples = item
            if samples is None:
                stream._ends = True
            else:
                stream._waiting.append(samples)
            self._busy[id(stream)] = stream

    def _do(self, stream: SpokenStream) -> None:
        """Does one round of one stream."""
        if stream._dropped:
            self._forget(stream)
            return
        try:
            report = self._round(stream)
        except Exception as error:
            # The thread must outlive whatever a recogniser does. The text of an error may hold what was said.
            log.error("a recogniser failed: %s", type(error).__name__)
            stream._dropped = True
            report = StreamReport(stream, stream._taken, failed=True, over=True)
        if report.over or not stream._waiting:
            self._forget(stream)
        self._report(report)

    def _forget(self, stream: SpokenStream) -> None:
        if stream._dropped:
            stream._waiting.clear()
        self._busy.pop(id(stream), None)

    def _round(self, stream: SpokenStream) -> StreamReport:
        began = self._clock()
        hearing = stream._hearing
        if hearing is None:
            hearing = stream._hearing = Hearing(stream.make(stream.settled), stream.pause)
        # A machine that is too slow for guesses is still fast enough for words.
        hearing.recogniser.hurried = sum(map(len, stream._waiting)) > LATE
        samples = _first(stream._waiting, ROUND)
        heard: list[Heard] = []
        if len(samples):
            heard += hearing.push(samples)
        stream._taken += len(samples)
        over = stream._ends and not stream._waiting
        if over:
            heard += hearing.flush()
            # A stream that has ended takes no more.
            stream._dropped = True
        work = self._clock() - began
        self._measure(stream, hearing, work, len(samples) / RATE)
        return StreamReport(
            stream,
            stream._taken,
            hearing.recogniser.restart,
            tuple(heard),
            tuple(hearing.new_complaints()),
            work,
            over,
        )

    def _measure(self, stream: SpokenStream, hearing: Hearing, work: float, seconds: float) -> None:
        spent, sound, speech_before = stream._window
        spent, sound = spent + work, sound + seconds
        if sound < WINDOW_SECONDS:
            stream._window = spent, sound, speech_before
            return
        speech = hearing.recogniser.speech_seconds
        # Where a recogniser does not tell speech from silence, all counts.
        if speech is None or speech - speech_before >= sound / 2:
            self._load.measured(spent / sound)
        stream._window = 0.0, 0.0, speech or 0.0


def _first(waiting: deque[Samples], most: int) -> Samples:
    """Takes at most so many samples."""
    taken, count = [], 0
    while waiting and count < most:
        block = waiting.popleft()
        if count + len(block) > most:
            waiting.appendleft(block[most - count :])
            block = block[: most - count]
        taken.append(block)
        count += len(block)
    return np.concatenate(taken) if taken else np.zeros(0, np.float32)


class RecogniserPool:
    """Several threads; each new stream goes to the one with the fewest. All methods are for one caller's thread."""

    def __init__(self, report: Report, threads: int = 1, clock: Callable[[], float] = time.perf_counter) -> None:
        self.load = Load()
        self._threads = [RecogniserThread(report, self.load, clock) for _ in range(threads)]
        self._of: dict[SpokenStream, RecogniserThread] = {}

    @property
    def streams(self) -> int:
        return len(self._of)

    @property
    def places(self) -> int:
        """Streams that the threads hold, as measured so far."""
        return self.load.places(len(self._threads))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def begin(self, stream: SpokenStream) -> None:
        thread = min(self._threads, key=lambda each: each.streams)
        thread.streams += 1
        self._of[stream] = thread

    def push(self, stream: SpokenStream, samples: Samples) -> None:
        self._of[stream].push(stream, samples)

    def end(self, stream: SpokenStream) -> None:
        """No more sound comes. The stream keeps its place until it is dropped."""
        self._of[stream].end(stream)

    def drop(self, stream: SpokenStream) -> None:
        """Drops a stream and frees its place."""
        thread = self._of.pop(stream, None)
        if thread is not None:
            thread.streams -= 1
            thread.drop(stream)

    def stop(self) -> None:
        for thread in self._threads:
            thread.stop()
