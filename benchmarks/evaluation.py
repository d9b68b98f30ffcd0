"""How long an evaluation takes, and how that grows with the stream.

    python benchmarks/evaluation.py

Prints the time of one whole evaluation of a stream of tst2010's size (the published one where `../shared` is, else a
made-up one) by its parts, and then time per word from 1,000 to 100,000 words. Compare ratios within one run: absolute
times depend on the machine. They are processor time, so that what else it is doing weighs little.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from turia.evaluation.inputs import StreamLog, stream_from_actions
from turia.evaluation.latency import stream_al, stream_ap, stream_dal, stream_laal, stream_yaal
from turia.evaluation.options import Convention, EvaluationOptions, Unit
from turia.evaluation.quality import bleu, chrf
from turia.evaluation.report import evaluate
from turia.evaluation.resegment import resegment
from turia.evaluation.units import plain_lines

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "conformance" / "tst2010"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Processor time of the shortest of a few runs: what the work costs when nothing else gets in its way."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def made_up_stream(words: int, seed: int = 1) -> StreamLog:
    """A translation that gets about 6 words in 10 right, three words behind the speaker."""
    chance = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(5000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    references: list[str] = []
    lengths: list[int] = []
    written: list[str] = []
    while sum(lengths) < words:
        sentence = chance.choices(vocabulary, weights, k=chance.randint(3, 30))
        references.append(" ".join([*sentence, "."]))
        lengths.append(len(sentence))
        for word in [*sentence, "."]:
            luck = chance.random()
            if luck < 0.6 or word == ".":
                written.append(word)
            elif luck < 0.8:
                written.append(chance.choice(vocabulary))
            elif luck < 0.9:
                written += [word, chance.choice(vocabulary)]
    source = sum(lengths)
    delays = [min(source, 3 + index * source // len(written)) for index in range(len(written))]
    return StreamLog(lengths, references, written, delays)


def whole_evaluation(console: Console) -> None:
    if PUBLISHED.is_dir():
        name, unit, case = "tst2010, published run w2_k4", Unit.MOSES, PUBLISHED / "w2_k4"
        stream = stream_from_actions(
            PUBLISHED / "source.de", PUBLISHED / "reference.en", case / "hypothesis.en", case / "actions"
        )
    else:
        name, unit, stream = "made up", Unit.WORD, made_up_stream(25_561)
    segments = resegment(stream.words, stream.references)
    lengths = [len(words) for words in segments]
    lines = plain_lines(segments, unit, "en")
    table = Table("part", "seconds", title=f"{name}: {len(stream.words)} words, {len(segments)} sentences")
    parts: list[tuple[str, Callable[[], object]]] = [
        ("re-segmentation", lambda: resegment(stream.words, stream.references)),
        (
            "AP, AL, DAL",
            lambda: [
                score(stream.delays, stream.source_lengths, lengths) for score in (stream_ap, stream_al, stream_dal)
            ],
        ),
        ("to plain text", lambda: plain_lines(segments, unit, "en")),
        ("BLEU", lambda: bleu(lines, stream.references)),
        ("chrF", lambda: chrf(lines, stream.references)),
        ("all of it", lambda: evaluate([stream], EvaluationOptions(unit=unit))),
        ("with every convention", lambda: evaluate([stream], EvaluationOptions(unit=unit, latency=(Convention.ALL,)))),
    ]
    for part, work in parts:
        table.add_row(part, f"{seconds(work):.3f}")
    console.print(table)
    console.print(f"most memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def growth(console: Console) -> None:
    names = ("AP", "AL", "DAL", "StreamLAAL", "LongYAAL", "re-segmentation")
    table = Table("words", *names, title="microseconds a word (and against the smallest stream)")
    first: list[float] = []
    for size in SIZES:
        stream = made_up_stream(size)
        each = [1e6 * taken / len(stream.words) for taken in times_of(stream)]
        first = first or each
        cells = [f"{now:.2f} ({now / then:.2f}x)" for now, then in zip(each, first, strict=True)]
        table.add_row(str(len(stream.words)), *cells)
    console.print(table)


def times_of(stream: StreamLog) -> list[float]:
    lengths = [len(segment) for segment in resegment(stream.words, stream.references)]
    references = [len(line.split()) for line in stream.references]
    plain = (stream.delays, stream.source_lengths, lengths)
    return [
        seconds(lambda: stream_ap(*plain)),
        seconds(lambda: stream_al(*plain)),
        seconds(lambda: stream_dal(*plain)),
        seconds(lambda: stream_laal(*plain, references)),
        seconds(lambda: stream_yaal(*plain, references)),
        seconds(lambda: resegment(stream.words, stream.references)),
    ]


if __name__ == "__main__":
    screen = Console(width=110)
    whole_evaluation(screen)
    growth(screen)
