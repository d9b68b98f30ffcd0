"""Sound of speakers that the server recognises: whom it listens to, how much it takes, and what it tells them.

All of it lives on the event loop; recognisers work in threads of their own (turia.speech.worker). Words go back to the
speaker's client, which sends them as its own. So inputs are numbered in one place, and a speaker who reconnects,
here or at another server, needs no state of ours: the client sends the sound again that was not settled.

Sound is nowhere stored. At most `window` seconds of a speaker wait here, and a speaker who sends faster than
`sound_rate` times real time, after a burst, is read more slowly.
"""

from __future__ import annotations

import asyncio
import bisect
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from turia.protocol.client_messages import Listen
from turia.protocol.server_messages import HeardWords, Listening, ServerMessage, SoundTrouble
from turia.protocol.sound import SOUND_RATE, SoundBlock
from turia.protocol.values import MAX_LETTERS, ProtocolError
from turia.schema import JsonObject
from turia.server.limits import Bucket
from turia.speech.choice import RecogniserFactory
from turia.speech.worker import RecogniserPool, SpokenStream, StreamReport
from turia.stream.times import Silent, SpokenWord, UnstableTail

SECONDS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)
REMEMBERED = 60.0
"""Seconds of sound whose arrival is remembered, for measuring lags."""
TELL = SOUND_RATE // 2
"""Samples that are taken before a client is told so, if there is nothing else to tell."""
log = logging.getLogger("turia.server")


@dataclass(frozen=True)
class SoundLimits:
    """The limits of a speaker's sound."""

    waiting: float = 10.0
    """Seconds of sound that may wait to be recognised."""
    rate: float = 1.5
    """Seconds of sound that are read in a second..."""
    burst: float = 60.0
    """...after so many at once, which a client has kept while it was cut off."""


class SoundMetrics:
    """What the server counts of sound, for Prometheus."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.listeners = Gauge("turia_listeners", "Speakers whose sound is recognised here", registry=registry)
        self.capacity = Gauge("turia_capacity_listeners", "Speakers whose sound is taken at once", registry=registry)
        self.factor = Gauge(
            "turia_recogniser_factor", "Real-time factor: seconds of work for a second of speech", registry=registry
        )
        self.sound = Counter("turia_sound_seconds", "Seconds of sound recognised", registry=registry)
        self.work = Counter("turia_recogniser_seconds", "Seconds that recognising took", registry=registry)
        self.heard = Histogram(
            "turia_heard_seconds",
            "From the arrival of the end of a spoken word until the word is final",
            buckets=SECONDS,
            registry=registry,
        )
        self.captioned = Histogram(
            "turia_sound_to_caption_seconds",
            "From the arrival of the end of the last word that was heard until a caption word is sent",
            buckets=SECONDS,
            registry=registry,
        )


@dataclass(frozen=True)
class Recognition:
    """What a server has for recognising speech."""

    recognisers: Mapping[str, RecogniserFactory]
    """By language."""
    limits: SoundLimits = SoundLimits()
    most: int | None = None
    """Speakers who are listened to at once; None is what is measured."""
    threads: int | None = None
    """None is half of the cores."""


class Ears:
    """The recognisers of the server, and the speakers whom they listen to."""

    def __init__(self, recognition: Recognition, registry: CollectorRegistry) -> None:
        self.limits = recognition.limits
        self.metrics = SoundMetrics(registry)
        self._recognition = recognition
        self._loop = asyncio.get_running_loop()
        self._ears: dict[SpokenStream, Ear] = {}
        self._pool = RecogniserPool(self._report_from_thread, recognition.threads or default_threads())
        self._count()

    @property
    def languages(self) -> list[str]:
        return list(self._recognition.recognisers)

    @property
    def places(self) -> int:
        return self._pool.places if self._recognition.most is None else self._recognition.most

    def start(self) -> None:
        self._pool.start()

    async def stop(self) -> None:
        await asyncio.to_thread(self._pool.stop)

    def begin(self, asked: Listen, wake: Callable[[], None], pause: float) -> Ear | SoundTrouble:
        """Listens to a speaker, or says why not. `wake` is called when there is something to tell. A silence of `pause`
        seconds is told; 0 is for none."""
        recognisers = self._recognition.recognisers
        make = recognisers.get(asked.language) or recognisers.get(asked.language.partition("-")[0])
        if make is None:
            known = ", ".join(self.languages) or "none"
            return SoundTrouble("language", f"this server does not recognise this language; it knows: {known}", True)
        if len(self._ears) >= self.places:
            return SoundTrouble("capacity", "this server listens to as many speakers as it can; try again later", True)
        stream = SpokenStream(make, asked.settled, pause)
        self._pool.begin(stream)
        ear = self._ears[stream] = Ear(self, self._pool, stream, asked.start, wake)
        self._count()
        return ear

    def drop(self, stream: SpokenStream) -> None:
        self._pool.drop(stream)
        self._ears.pop(stream, None)
        self._count()

    def _report_from_thread(self, report: StreamReport) -> None:
        # The loop may be closed already when the server stops.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take_report, report)

    def _take_report(self, report: StreamReport) -> None:
        ear = self._ears.get(report.stream)
        if ear is None:
            return
        self.metrics.work.inc(report.work)
        self.metrics.factor.set(self._pool.load.factor)
        ear.take_report(report)
        self._count()

    def _count(self) -> None:
        self.metrics.listeners.set(len(self._ears))
        self.metrics.capacity.set(self.places)


class Ear:
    """Listens to one speaker in one connection."""

    def __init__(
        self, ears: Ears, pool: RecogniserPool, stream: SpokenStream, start: int, wake: Callable[[], None]
    ) -> None:
        self._ears, self._pool, self._stream, self._wake = ears, pool, stream, wake
        self._start = start
        self._next = start
        """Number of the sample that is to come next."""
        self._taken = start
        self._told = start
        """What the client knows to be taken."""
        self._ended = False
        self.over = False
        """All is told: nothing more comes."""
        limits = ears.limits
        self._window = round(limits.waiting * SOUND_RATE)
        self._bucket = Bucket(limits.rate, limits.burst, time.monotonic())
        self._news: deque[ServerMessage] = deque([Listening(start, self._window)])
        self._arrivals: deque[tuple[int, float]] = deque()
        """Number of the sample after a block of sound, and when the block arrived."""
        self._complained: set[str] = set()

    # --- sound in -------------------------------------------------------------------------------------------------

    def take(self, block: SoundBlock) -> float:
        """Takes some sound; gives the seconds to wait before more is read."""
        if self._ended:
            raise ProtocolError("sound", "sound after its end; say listen again")
        if block.first > self._next:
            raise ProtocolError("sound", f"sample {block.first} came after {self._next}; send from there")
        # What came before comes no second time.
        pcm = block.pcm[2 * (self._next - block.first) :]
        now = time.monotonic()
        if not pcm:
            return self._bucket.take(block.samples / SOUND_RATE, now)
        self._next += len(pcm) // 2
        if self._next - self._taken > self._window:
            raise ProtocolError("sound", f"more than {self._window} samples ahead of what is taken")
        self._note_arrival(now)
        self._pool.push(self._stream, np.frombuffer(pcm, "<i2").astype(np.float32) * np.float32(1 / 32768))
        return self._bucket.take(len(pcm) / 2 / SOUND_RATE, now)

    def end(self) -> None:
        """Ends the sound: the client has no more of it."""
        if not self._ended:
            self._ended = True
            self._pool.end(self._stream)

    def close(self) -> None:
        """The connection is over. What was not told is heard again in the next."""
        self.over = True
        self._ears.drop(self._stream)

    def _note_arrival(self, now: float) -> None:
        self._arrivals.append((self._next, now))
        while self._arrivals[0][1] < now - REMEMBERED:
            self._arrivals.popleft()

    # --- words out ------------------------------------------------------------------------------------------------

    def take_report(self, report: StreamReport) -> None:
        """Takes what the recogniser says."""
        metrics, now = self._ears.metrics, time.monotonic()
        taken = self._start + report.taken
        metrics.sound.inc((taken - self._taken) / SOUND_RATE)
        self._taken = taken
        for complaint in report.complaints:
            if complaint.code not in self._complained:
                self._complained.add(complaint.code)
                self._news.append(SoundTrouble(complaint.code, complaint.message))
        if report.failed:
            self._news.append(SoundTrouble("failed", "the recogniser failed; what was said until then is safe", True))
            self.close()
        elif report.heard or report.over or taken - self._told >= TELL:
            self._told = taken
            self._news.append(self._message(report))
            for word in report.heard:
                if isinstance(word, SpokenWord) and word.end is not None:
                    self._observe(metrics.heard, self._start + word.end * SOUND_RATE, now)
            if report.over:
                self.close()
        if self._news:
            self._wake()

    def news(self) -> ServerMessage | None:
        """The next thing to tell the client."""
        return self._news.popleft() if self._news else None

    def captioned(self, events: Sequence[JsonObject]) -> None:
        """Measures how long ago the sound came that led to these events, when they are sent to the speaker."""
        now = time.monotonic()
        for event in events:
            at = event.get("at")
            if event.get("type") == "write" and isinstance(at, int | float):
                self._observe(self._ears.metrics.captioned, at * SOUND_RATE / 1000, now)

    def _observe(self, histogram: Histogram, sample: float, now: float) -> None:
        """The time since a sample arrived, if it did so here and not long ago."""
        place = bisect.bisect_left(self._arrivals, sample, key=lambda arrival: arrival[0])
        if place < len(self._arrivals) and sample > self._start:
            histogram.observe(now - self._arrivals[place][1])

    def _message(self, report: StreamReport) -> HeardWords:
        words: list[str] = []
        times: list[float] = []
        partial: tuple[str, ...] | None = None
        pause = False
        for item in report.heard:
            match item:
                case SpokenWord(text, _, end):
                    parts = [part[:MAX_LETTERS] for part in text.split()]
                    words += parts
                    times += [self._milliseconds(end)] * len(parts)
                case UnstableTail(text):
                    partial = tuple(part[:MAX_LETTERS] for part in text.split())
                case Silent():
                    pause = True
        keep = self._start + int(report.restart.at * SOUND_RATE)
        return HeardWords(
            self._taken, keep, report.restart.words, tuple(words), tuple(times), partial, pause, report.over
        )

    def _milliseconds(self, end: float | None) -> float:
        seconds = self._taken / SOUND_RATE if end is None else self._start / SOUND_RATE + end
        return round(1000 * seconds, 1)


def default_threads() -> int:
    """Half of the cores: the other half translates."""
    return max(1, len(os.sched_getaffinity(0)) // 2)
