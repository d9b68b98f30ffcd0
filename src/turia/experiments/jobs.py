"""Translates many streams at once, their steps in batches: for sweeps and benchmarks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from turia.engine.backend import Backend, Steps
from turia.engine.batcher import run_together
from turia.engine.stream import Stream
from turia.experiments.cost import CallMeter
from turia.stream.trace import Record, Trace

_REPORT_WORDS = 100
"""Progress is told after so many source words."""


@dataclass(frozen=True)
class Job:
    """A stream to be translated."""

    begin: Callable[[], Stream]
    words: Sequence[str]
    meter: CallMeter = field(default_factory=CallMeter)
    """Counts its calls of the model."""


def translate_all(jobs: Sequence[Job], backend: Backend, together: int, report: Callable[[int], None]) -> list[Trace]:
    """The trace of each job. So many at a time go `together`, their steps as one batch, and none waits for another.

    `report` is told the source words read since it was last told. Traces have no times: a batch has no moment at which
    a word was written.
    """
    waiting = deque(enumerate(jobs))
    traces: dict[int, Trace] = {}

    def lane() -> Steps[None]:
        try:
            while waiting:
                number, job = waiting.popleft()
                stream = job.begin()
                header = stream.header()
                records: list[Record] = []
                for count, word in enumerate(job.words, start=1):
                    records += yield from job.meter.count(stream.push_steps(word))
                    if count % _REPORT_WORDS == 0:
                        report(_REPORT_WORDS)
                report(len(job.words) % _REPORT_WORDS)
                records += yield from job.meter.count(stream.flush_steps())
                traces[number] = Trace(header, tuple(records))
        except Exception:
            # Nobody gets a trace now: the other lanes need not begin another stream.
            waiting.clear()
            raise

    run_together([lane() for _ in range(min(together, len(jobs)))], backend)
    return [traces[number] for number in range(len(jobs))]
