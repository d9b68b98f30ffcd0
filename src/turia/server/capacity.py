"""How many streams a server holds on this machine, measured before it begins and while it runs.

A capacity written down would be right for one machine and one model. What is measured is the engine alone, on the
sample speech of the page, with the policy that sessions have unless they choose another, and several streams in a
batch; `LOAD` leaves room for all else and for words that come in bunches. `python -m benchmarks.server_load` measures
whether a server then holds as many.

Other programs come and go, so a running server measures again: a few words at a time, when no session waits, each time
that the load of the machine has changed, and every ten minutes (`measure_again`). The median of the last three
measurements counts, so that one which something disturbed does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path

from turia.engine.batcher import run_together
from turia.server.choices import Translating, any_stream
from turia.server.places import WORDS_PER_SECOND as WORDS_PER_SECOND
from turia.server.sessions import SessionManager

LOAD = 0.5
"""Share of the time in which the engine works when all streams are taken."""
TOGETHER = 8
SAMPLES = Path(__file__).parent / "static"
FIRST_SECONDS = 0.4
"""For measuring before the server begins: nobody is to wait long for the first page."""
ROUNDS = 12
"""Of each model in a measurement."""
LOOK_SECONDS = 10.0
LOAD_CHANGE = 0.5
"""Processes that run or wait, more or fewer, after which capacity is measured again."""
LONGEST = 600.0
"""Seconds after which it is measured again in any case."""
MEASUREMENTS = 3
Clock = Callable[[], float]
log = logging.getLogger("turia.server")


def measured_streams(
    translators: Collection[Translating], seconds: float = 2.0, clock: Clock = time.perf_counter
) -> int:
    """Streams that the slowest of these models holds; at least one."""
    return streams_at(
        max(seconds_per_word(translator, seconds / len(translators), clock) for translator in translators)
    )


def streams_at(seconds_per_word: float) -> int:
    """Streams that are held if a word costs so much; at least one."""
    return max(1, int(LOAD / (WORDS_PER_SECOND * seconds_per_word)))


def seconds_per_word(translator: Translating, seconds: float, clock: Clock) -> float:
    """What a source word costs when `TOGETHER` streams share batches, with some history behind them."""
    words = _sample(translator.model.languages[0])
    streams = [any_stream(translator) for _ in range(TOGETHER)]
    rounds: list[float] = []
    while sum(rounds) < seconds:
        # Streams are at different places of the speech, as speakers are.
        work = [stream.push_steps(words[(7 * n + len(rounds)) % len(words)]) for n, stream in enumerate(streams)]
        began = clock()
        run_together(work, translator.model.backend)
        rounds.append(clock() - began)
    late = rounds[len(rounds) // 2 :]
    return sum(late) / len(late) / TOGETHER


def _sample(language: str) -> list[str]:
    """A speech in the language, whatever its region; in German where there is none."""
    path = SAMPLES / f"sample.{language.partition('-')[0]}.txt"
    return (path if path.exists() else SAMPLES / "sample.de.txt").read_text(encoding="utf-8").split()


class Meter:
    """Measures again, one round at a time, in the thread that has the models. `streams` were measured before."""

    def __init__(self, translators: Collection[Translating], streams: int, clock: Clock = time.perf_counter) -> None:
        self._measured: deque[int] = deque([streams], maxlen=MEASUREMENTS)
        self._clock = clock
        self._speeches = [
            (translator, _sample(translator.model.languages[0]), [any_stream(translator) for _ in range(TOGETHER)])
            for translator in translators
        ]
        self._rounds: list[list[float]] = [[] for _ in translators]
        self._said = 0

    def round(self) -> bool:
        """The next round; True when it completes a measurement."""
        number = next(n for n, rounds in enumerate(self._rounds) if len(rounds) < ROUNDS)
        translator, words, streams = self._speeches[number]
        work = [stream.push_steps(words[(7 * n + self._said) % len(words)]) for n, stream in enumerate(streams)]
        self._said += 1
        began = self._clock()
        run_together(work, translator.model.backend)
        self._rounds[number].append(self._clock() - began)
        if len(self._rounds[-1]) < ROUNDS:
            return False
        self._measured.append(streams_at(max(statistics.mean(rounds) for rounds in self._rounds) / TOGETHER))
        for rounds in self._rounds:
            rounds.clear()
        return True

    @property
    def streams(self) -> int:
        """The median of the last measurements; the lower one of two."""
        return statistics.median_low(self._measured)


class Occasions:
    """When to measure again. Pure: the caller passes load and time."""

    def __init__(self, load: float, now: float) -> None:
        self._load, self._when = load, now
        # The first measurement was a short one.
        self._wanted = MEASUREMENTS - 1

    def is_one(self, load: float, now: float) -> bool:
        if abs(load - self._load) >= LOAD_CHANGE:
            self._load, self._wanted = load, MEASUREMENTS
        if self._wanted == 0 and now - self._when < LONGEST:
            return False
        self._wanted, self._when = max(0, self._wanted - 1), now
        return True


async def measure_again(manager: SessionManager, look_seconds: float = LOOK_SECONDS) -> None:
    """Keeps the capacity what the machine holds now, for as long as the server lives."""
    occasions = Occasions(os.getloadavg()[0], time.monotonic())
    try:
        meter = await manager.do_when_idle(lambda: Meter(list(manager.translators.values()), manager.limits.streams))
        while True:
            await asyncio.sleep(look_seconds)
            if occasions.is_one(os.getloadavg()[0], time.monotonic()):
                while not await manager.do_when_idle(meter.round):
                    pass
                manager.hold(meter.streams)
    except Exception:
        # The worker has logged why. The server goes on with what was measured last.
        log.warning("capacity is not measured again")
