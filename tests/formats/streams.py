"""Streams to be converted, and what others and we find in their logs."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

from tests.formats.scorers import Scorers
from turia.evaluation.inputs import load_streams
from turia.evaluation.options import Convention, EvaluationOptions
from turia.evaluation.report import Report, evaluate
from turia.formats.convert import LogFormat, convert
from turia.stream.times import SpokenTimes, SpokenWord
from turia.stream.trace import End, Record, SentenceEnd, Trace, Write, trace_lines

Files = tuple[Path, Path, Path]
SPEECH = Path(__file__).parents[2] / "examples" / "speech"
EVERYTHING = EvaluationOptions(latency=(Convention.ALL,))


def made_up(folder: Path, seed: int, timed: bool) -> Files:
    """A stream whose words resemble its reference, with delays of its own and a sentence that got no words."""
    chance = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(300)]
    references = [chance.sample(vocabulary, chance.randint(3, 12)) for _ in range(12)]
    sources = [["s"] * max(1, len(words) + chance.randint(-2, 3)) for words in references]
    total, spoken, read, clock = sum(map(len, sources)), 0, 0, 0.0
    times, records, written = SpokenTimes(), list[Record](), 0
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        spoken += len(source)
        kept = [word for word in reference if chance.random() < 0.85] if number != 4 else []
        for position, word in enumerate(kept, start=1):
            goal = max(read, min(total, spoken - len(source) + position + 2))
            while read < goal:
                read, clock = read + 1, round(clock + chance.uniform(0.08, 0.7), 3)
                times.push(SpokenWord("s", None, clock if timed else None))
            records += times.stamp([Write(word, written, read, number, "policy")])
            written += 1
    while read < total:
        read, clock = read + 1, clock + 0.3
        times.push(SpokenWord("s", None, clock if timed else None))
    records += times.stamp([SentenceEnd(len(sources), total, written, "end")])
    files = folder / f"{seed}.source", folder / f"{seed}.reference", folder / f"{seed}.jsonl"
    lines = trace_lines(Trace({"k": 3}, (*records, End(total, written))))
    for file, content in zip(files, (map(" ".join, sources), map(" ".join, references), lines), strict=True):
        file.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return files


def example() -> Files:
    return SPEECH / "source.de", SPEECH / "reference.en", SPEECH / "trace.jsonl"


def write(folder: Path, kind: LogFormat, streams: list[Files]) -> Path:
    sources, references, traces = map(list, zip(*streams, strict=True))
    convert(folder, kind, sources, references, traces)
    return folder


def report(streams: list[Files], cuts: list[Path] | None = None) -> Report:
    sources, references, traces = map(list, zip(*streams, strict=True))
    return evaluate(load_streams(sources, references, traces, resegmented=cuts or []), EVERYTHING)


def simuleval_scores(folder: Path) -> dict[str, float]:
    with (folder / "scores.tsv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    return {name: float(value) for name, value in row.items()}


def omnisteval(scorers: Scorers, folder: Path, *options: str | Path) -> dict[str, float]:
    scorers.run(
        "omnisteval", "longform", "--word_level", "--speech_segmentation", folder / "segments.yaml",
        "--ref_sentences_file", folder / "reference.txt", "--output_folder", folder / "out", *options,
    )  # fmt: skip
    lines = (folder / "out" / "scores.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {name: float(value) for name, value in (line.split("\t") for line in lines)}


def cuts_of(folder: Path, streams: list[Files]) -> list[Path]:
    """Where OmniSTEval cut each stream, as files that `--resegmented` takes."""
    lines = (folder / "out" / "instances.resegmented.jsonl").read_text(encoding="utf-8").splitlines()
    segments = [json.loads(line) for line in lines]
    paths = [folder / f"cuts-{number}" for number in range(len(streams))]
    for number, path in enumerate(paths):
        own = [segment["prediction"] for segment in segments if segment["docid"] == number]
        path.write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    return paths
