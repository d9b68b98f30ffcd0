"""How many streams a server holds on this machine, measured in two seconds before it begins.

A capacity written down would be right for one machine and one model. What is measured is the engine alone, on the
sample speech of the page, with several streams in a batch; `LOAD` leaves room for all else and for words that come in
bunches. `python -m benchmarks.server_load` measures whether a server then holds as many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from turia.engine.batcher import run_together
from turia.server.captions import Translating, any_stream

WORDS_PER_SECOND = 2.5
"""Of a speaker."""
LOAD = 0.5
"""Share of the time in which the engine works when all streams are taken."""
TOGETHER = 8
SAMPLES = Path(__file__).parent / "static"
Clock = Callable[[], float]


def measured_streams(
    translators: Collection[Translating], seconds: float = 2.0, clock: Clock = time.perf_counter
) -> int:
    """Streams that the slowest of these models holds; at least one."""
    costs = [seconds_per_word(translator, seconds / len(translators), clock) for translator in translators]
    return max(1, int(LOAD / (WORDS_PER_SECOND * max(costs))))


def seconds_per_word(translator: Translating, seconds: float, clock: Clock) -> float:
    """What a source word costs when `TOGETHER` streams share batches, with some history behind them."""
    words = _sample(translator.model.languages[0])
    streams = [any_stream(translator, k=4) for _ in range(TOGETHER)]
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
