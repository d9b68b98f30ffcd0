"""`turia bench`: how long a word takes, in which part, with how much memory, and whether that stays so.

Everything is measured in the engine itself, Python around the model included; the words are scripted (bench_script.py).
Two procedures are compared: the engine with its caches on the model's own runtime, and the naive one: the same engine,
which encodes the whole window again at each READ and decodes the whole target again for each piece, on eager torch.
"""

from __future__ import annotations

import platform
import resource
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from turia import __version__
from turia.engine.backend import Backend
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.bench_script import DECODER, ENCODER, SENTENCE_WORDS, ScriptedBackend, clock, speech
from turia.experiments.contest import Contest
from turia.experiments.jobs import Job, translate_all
from turia.runtime.kernels import named
from turia.segmenter.online import GivenSegmenter
from turia.stream.sentences import offsets
from turia.stream.trace import Write
from turia.text.counted import counted


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    words: int = 600
    """Source words of the stream that is timed, after its history has filled."""
    naive_words: int = 40
    marks: tuple[int, ...] = (100, 10_000, 100_000)
    """Words of one stream after which the time per word is taken again."""
    stretch: int = 1000
    """Words over which it is taken."""
    streams: tuple[int, ...] = (1, 4, 16, 64)
    stream_words: int = 80


QUICK = Amounts(words=60, naive_words=20, marks=(100, 500), stretch=100, streams=(1, 4), stream_words=25)
LARGE = Amounts(words=60, marks=(100, 1000), stretch=100, streams=(1, 4, 8), stream_words=20)
"""For models of hundreds of megabytes, of which a word takes a tenth of a second."""
SPOKEN = 2.5
"""Words a second of a speaker."""


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimingSummary:
    """Milliseconds of many equal things."""

    p5: float
    """Of the calls that the machine's other jobs disturbed least."""
    median: float
    p95: float
    mean: float
    count: int


def spread(seconds: Sequence[float]) -> TimingSummary:
    values = 1000 * np.array(seconds)
    p5, median, p95 = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    return TimingSummary(p5, median, p95, float(values.mean()), len(values))


@dataclass(frozen=True)
class Timing:
    """One procedure. Encoding is what a word read costs the model, decoding what a word written costs it."""

    read: TimingSummary
    """Encoder, for each source word."""
    write: TimingSummary
    """Decoder, for each target word."""
    word: TimingSummary
    """All of it, Python included, for each source word and whatever was written at it."""
    calls: dict[str, TimingSummary]
    """Single calls of the model, by kind."""
    rows: dict[str, float]
    """New positions or rows of such a call, on average."""


def measure(model: Model, settings: Settings, words: int) -> Timing:
    """Times `words` source words of a stream whose history is full."""
    filling = settings.history + SENTENCE_WORDS[1]
    said = speech(model.source_subwords, filling + words)
    backend = ScriptedBackend(model)
    stream = Stream(replace(model, backend=backend), GivenSegmenter(said.lengths), settings)
    for word in said.words[:filling]:
        stream.push(word)
    backend.calls.clear()
    read: list[float] = []
    write: list[float] = []
    total: list[float] = []
    for word in said.words[filling : filling + words]:
        first = len(backend.calls)
        began = clock()
        records = stream.push(word)
        total.append(clock() - began)
        calls = backend.calls[first:]
        read.append(sum(call.seconds for call in calls if call.kind in ENCODER))
        written = sum(isinstance(record, Write) for record in records)
        if written:
            write += [sum(call.seconds for call in calls if call.kind in DECODER) / written] * written
    by_kind = {kind: [call for call in backend.calls if call.kind == kind] for kind in (*ENCODER, *DECODER)}
    found = {kind: calls for kind, calls in by_kind.items() if calls}
    return Timing(
        spread(read),
        spread(write),
        spread(total),
        {kind: spread([call.seconds for call in calls]) for kind, calls in found.items()},
        {kind: float(np.mean([call.rows for call in calls])) for kind, calls in found.items()},
    )


@dataclass(frozen=True)
class Growth:
    """Time per source word after so many words of one stream, and the memory of the process there."""

    after: int
    ms: float
    ratio: float
    """To a young stream that is given the same words in turn: a machine whose speed changes changes both."""
    megabytes: float


def growth(model: Model, settings: Settings, marks: Sequence[int], stretch: int) -> list[Growth]:
    """One stream, timed for `stretch` words at each mark, sentence by sentence in turn with a young one; medians."""
    said = speech(model.source_subwords, marks[-1] + stretch)
    starts = offsets(said.lengths)
    sentences = [said.words[start:end] for start, end in pairwise(starts)]
    old = _Timed(model, settings, said.lengths)
    found, sentence = [], 0
    for mark in marks:
        first = bisect_left(starts, mark)
        for index in range(sentence, first):
            old.push(sentences[index])
        sentence = bisect_left(starts, mark + stretch)
        fill = bisect_left(starts, mark - settings.history - SENTENCE_WORDS[1])
        young = _Timed(model, settings, said.lengths[fill:])
        for index in range(fill, first):
            young.push(sentences[index])
        pairs = []
        for number, words in enumerate(sentences[first:sentence]):
            # Whoever comes second finds the caches warm, so they take turns.
            if number % 2:
                other, own = young.push(words), old.push(words)
            else:
                own, other = old.push(words), young.push(words)
            pairs.append((own, other))
        found.append(
            Growth(
                mark,
                1000 * float(np.median([own for own, _ in pairs])),
                float(np.median([own / other for own, other in pairs])),
                memory(),
            )
        )
    return found


class _Timed:
    """A stream that tells how long it takes."""

    def __init__(self, model: Model, settings: Settings, lengths: Sequence[int]) -> None:
        self._backend = ScriptedBackend(model)
        self._stream = Stream(replace(model, backend=self._backend), GivenSegmenter(lengths), settings)

    def push(self, words: Sequence[str]) -> float:
        """Seconds a word of a sentence."""
        began = clock()
        for word in words:
            self._stream.push(word)
        seconds = (clock() - began) / len(words)
        self._backend.calls.clear()
        return seconds


def together(model: Model, settings: Settings, streams: int, words: int) -> float:
    """Source words a second of `streams` streams of different speech, run as one batch."""
    backend = ScriptedBackend(model)
    scripted = replace(model, backend=backend)

    def job(seed: int, words: int) -> Job:
        said = speech(model.source_subwords, words, seed)
        return Job(lambda: Stream(scripted, GivenSegmenter(said.lengths), settings), said.words)

    # The graphs of this many streams are loaded when they are first used.
    translate_all([job(seed, 1) for seed in range(streams)], backend, streams, lambda words: None)
    jobs = [job(seed, words) for seed in range(streams)]
    began = clock()
    translate_all(jobs, backend, streams, lambda words: None)
    return sum(len(one.words) for one in jobs) / (clock() - began)


def memory() -> float:
    """Megabytes that this process has in memory now (at most so far, where the system does not say)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


# --- the report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchReport:
    """All that one run of `turia bench` found."""

    model: str
    machine: str
    settings: dict[str, Any]
    timing: Timing
    naive: Timing | None
    """None without torch."""
    memory: dict[str, float]
    """Megabytes of the process: before the model was loaded, with it, and after the stream."""
    growth_model: str
    growth: list[Growth]
    streams: dict[int, float]
    """Source words a second, all streams together."""
    amounts: Amounts
    load_seconds: float = 0.0
    """Of the processor, until the model can be used; weights that were read lately are in the system's cache."""
    contest: Contest | None = None
    """Beside CTranslate2, where that is installed."""

    @property
    def held(self) -> float:
        """Speakers whom one thread can follow."""
        return max(self.streams.values()) / SPOKEN

    @property
    def ratio(self) -> float | None:
        """How many times longer a word takes the naive way, on average."""
        return None if self.naive is None else self.naive.word.mean / self.timing.word.mean

    @property
    def flatness(self) -> float:
        """A word at the worst mark over the same word in a young stream; 1 is flat."""
        return max(mark.ratio for mark in self.growth)

    def as_json(self) -> dict[str, Any]:
        """What is not to be quoted says so: `quick`."""
        derived = {
            "quick": self.amounts == QUICK,
            "ratio": self.ratio,
            "flatness": self.flatness,
            "streams_held": self.held,
        }
        beside = None if self.contest is None else self.contest.as_json()
        return {"turia": __version__, **asdict(self), **derived, "contest": beside}

    def tables(self) -> list[Table]:
        """For a terminal."""
        found = [_timing_table(f"{self.model}, ms of processor time", self.timing)]
        if self.naive is not None:
            title = f"naive reference, ms; {self.ratio:.1f} times as long a word"
            found.append(_timing_table(title, self.naive))
        grown = Table(title=f"one stream as it grows ({self.growth_model})", box=box.SIMPLE_HEAD)
        for name in ("after words", "ms a word", "to a young stream", "MB"):
            grown.add_column(name, justify="right")
        for mark in self.growth:
            grown.add_row(f"{mark.after:,}", f"{mark.ms:.3f}", f"{mark.ratio:.2f}", f"{mark.megabytes:.0f}")
        held = f"streams in one batch; {self.held:.1f} speakers of {SPOKEN} words/s are held"
        many = Table(title=held, box=box.SIMPLE_HEAD)
        for name in ("streams", "source words/s", "words/s each"):
            many.add_column(name, justify="right")
        for streams, rate in self.streams.items():
            many.add_row(str(streams), f"{rate:.0f}", f"{rate / streams:.1f}")
        used = Table(title=f"memory of the process; loaded in {self.load_seconds:.1f} s", box=box.SIMPLE_HEAD)
        used.add_column("when")
        used.add_column("MB", justify="right")
        for when, megabytes in self.memory.items():
            used.add_row(when, f"{megabytes:.0f}")
        return [*found, grown, many, used, *([self.contest.table()] if self.contest else [])]


def _timing_table(title: str, timing: Timing) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("")
    for name in ("p5", "median", "p95", "mean"):
        table.add_column(name, justify="right")
    rows = {
        "source word read: encoder": timing.read,
        "target word written: decoder": timing.write,
        "source word, everything": timing.word,
    }
    for kind, calls in timing.calls.items():
        rows[f"one {kind} of {timing.rows[kind]:.1f} positions"] = calls
    for name, spread in rows.items():
        table.add_row(name, *(f"{value:.2f}" for value in (spread.p5, spread.median, spread.p95, spread.mean)))
    return table


def bench(
    name: str,
    load: Callable[[], Model],
    growth_model: tuple[str, Callable[[], Model]],
    naive: Callable[[], Backend] | None,
    amounts: Amounts,
    show: Callable[[float, str], None],
    k: int = 4,
    history: int = 60,
) -> BenchReport:
    """Measures everything. Models are given as what loads them, so that memory is seen before and after."""
    used = {"before the model": memory()}
    began = clock()
    model = load()
    loaded = clock() - began
    used["with the model"] = memory()
    settings = Settings(k=k, gamma=model.gamma, history=history)
    show(0.1, "one stream")
    timing = measure(model, settings, amounts.words)
    used["after the stream"] = memory()
    rates = {}
    for number, streams in enumerate(amounts.streams):
        show(0.2 + 0.3 * number / len(amounts.streams), counted(streams, "stream"))
        rates[streams] = together(model, settings, streams, amounts.stream_words)
    show(0.5, f"a stream of {amounts.marks[-1]:,} words")
    grown = growth(growth_model[1](), settings, amounts.marks, amounts.stretch)
    slow = None
    if naive is not None:
        show(0.8, "the naive reference")
        anew = replace(settings, encoding="full", recompute=True)
        slow = measure(replace(model, backend=naive()), anew, amounts.naive_words)
    show(1.0, "done")
    machine = f"{processor()}, {platform.system()}, Python {platform.python_version()}"
    described: dict[str, Any] = {"k": k, "gamma": model.gamma, "history": history, "beam": settings.beam, "threads": 1}
    described["kernels"] = named(model.backend)
    return BenchReport(name, machine, described, timing, slow, used, growth_model[0], grown, rates, amounts, loaded)


def processor() -> str:
    """The name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
