"""Logs for others: their own scorers read them, and find what we find. Needs the network once, or skips."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from tests.interop.scorers import Scorers
from turia.errors import FormatError, InputError
from turia.evaluation.inputs import load_streams
from turia.evaluation.latency import mean, stream_yaal
from turia.evaluation.options import Convention, Options
from turia.evaluation.report import Report, evaluate
from turia.interop.convert import LogFormat, convert
from turia.interop.simuleval_log import read_instances
from turia.stream.times import SpokenTimes, SpokenWord
from turia.stream.trace import End, Record, SentenceEnd, Trace, Write, trace_lines

Files = tuple[Path, Path, Path]
SPEECH = Path(__file__).parents[2] / "examples" / "speech"
EVERYTHING = Options(latency=(Convention.ALL,))


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


def test_simuleval_scores_our_log_as_we_do(scorers: Scorers, tmp_path: Path) -> None:
    folder = write(tmp_path / "log", "simuleval", [made_up(tmp_path, seed, timed=False) for seed in range(3)])
    printed = scorers.run(
        "simuleval", "--score-only", "--output", folder, "--latency-metrics", "AL", "LAAL", "AP", "DAL"
    )
    header, values = (line.split() for line in printed.splitlines()[-2:])
    theirs = dict(zip(header, map(float, values[1:]), strict=True))
    ours = evaluate(read_instances(folder / "instances.log"), EVERYTHING)
    for name, value in ours.others[Convention.SIMULEVAL].items():
        assert value == pytest.approx(theirs[name], abs=1e-3)
    assert ours.bleu.value == pytest.approx(theirs["BLEU"], abs=1e-3)


@pytest.mark.parametrize("timed", [False, True])
def test_omnisteval_scores_our_log_as_we_do(scorers: Scorers, tmp_path: Path, timed: bool) -> None:
    streams = [made_up(tmp_path, seed, timed) for seed in range(2)]
    folder = write(tmp_path / "log", "omnisteval", streams)
    theirs = omnisteval(scorers, folder, "--hypothesis_file", folder / "hypothesis.jsonl")
    ours = report(streams, cuts_of(folder, streams))
    figure = ours.seconds["LongYAAL"] if timed else ours.others[Convention.LONGYAAL]["LongYAAL"]
    assert figure == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)
    assert ours.bleu.value == pytest.approx(theirs["BLEU"], abs=1e-3)
    assert ours.seconds.keys() == ({"AL", "DAL", "StreamLAAL", "LongYAAL"} if timed else set())


def test_on_a_plain_case_even_the_cuts_agree(scorers: Scorers, tmp_path: Path) -> None:
    folder = write(tmp_path / "log", "omnisteval", [example()])
    theirs = omnisteval(scorers, folder, "--hypothesis_file", folder / "hypothesis.jsonl")
    ours = report([example()])
    assert ours.others[Convention.LONGYAAL]["LongYAAL"] == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)
    assert ours.others[Convention.SIMULEVAL]["LAAL"] == pytest.approx(theirs["LongLAAL (CU)"] / 1000, abs=1e-3)


@pytest.mark.parametrize("timed", [False, True])
def test_simulstream_reads_our_log(scorers: Scorers, tmp_path: Path, timed: bool) -> None:
    """By its own reader, which OmniSTEval calls."""
    streams = [made_up(tmp_path, 7, timed)]
    folder = write(tmp_path / "log", "simulstream", streams)
    theirs = omnisteval(
        scorers, folder, "--hypothesis_file", folder / "simulstream.jsonl", "--hypothesis_format", "simulstream",
        "--simulstream_config_file", folder / "config.yaml",
    )  # fmt: skip
    ours = report(streams, cuts_of(folder, streams))
    figure = ours.seconds["LongYAAL"] if timed else ours.others[Convention.LONGYAAL]["LongYAAL"]
    assert figure == pytest.approx(theirs["LongYAAL (CU)"] / 1000, abs=1e-3)


def test_the_authors_logs_score_as_the_trace_does(tmp_path: Path) -> None:
    streams = [example(), made_up(tmp_path, 1, timed=False)]
    folder = write(tmp_path / "log", "actions", streams)
    names = [f"stream-{number:03d}" for number in range(2)]

    def files(ending: str) -> list[Path]:
        return [folder / f"{name}.{ending}" for name in names]

    logs = load_streams(files("source"), files("reference"), hypotheses=files("hypothesis"), actions=files("actions"))
    ours, again = report(streams), evaluate(logs, EVERYTHING)
    assert (again.ap, again.al, again.dal, again.bleu.value) == (ours.ap, ours.al, ours.dal, ours.bleu.value)
    assert (folder / "stream-000.actions").read_text().startswith("R R R W R W R W R W W W")


def test_seconds_are_the_same_functions_of_other_numbers(tmp_path: Path) -> None:
    source, reference, trace = made_up(tmp_path, 3, timed=True)
    (log,) = load_streams([source], [reference], [trace])
    assert log.seconds is not None
    assert sum(log.seconds.source_lengths) > max(log.seconds.delays) - 1e-9
    scores = stream_yaal([2.0, 3.5], [4.0], [2], [2])
    assert mean(scores) == pytest.approx((2.0 + 3.5 - 2.0) / 2)


def test_traces_with_and_without_times_are_not_mixed(tmp_path: Path) -> None:
    streams = [made_up(tmp_path, 1, timed=True), made_up(tmp_path, 2, timed=False)]
    with pytest.raises(InputError, match="some traces have the times"):
        write(tmp_path / "log", "omnisteval", streams)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "log:1: not JSON"),
        ("[]", "log:1: expected a JSON object"),
        ('{"prediction": "a"}', "log:1: reference is None, expected text"),
        ('{"prediction":"a","reference":"b","source_length":0,"delays":[1]}', "log:1: source_length is 0"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":"x"}', "log:1: delays is not a list"),
        ('{"prediction":"a b","reference":"b","source_length":2,"delays":[1]}', "log:1: 2 words, but 1 delays"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[NaN]}', "log:1: not JSON: NaN is not a JSON"),
        (
            '{"prediction":"a","reference":"b","source_length":Infinity,"delays":[1]}',
            "log:1: not JSON: Infinity is not",
        ),
        ('{"prediction":"a","reference":"b","source_length":1e999,"delays":[1]}', "log:1: source_length is inf"),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[1e999]}', "log:1: delays is not a list"),
        (f'{{"prediction":"a","reference":"b","source_length":2,"delays":[{10**400}]}}', "log:1: delays is not a list"),
        (
            f'{{"prediction":"a","reference":"b","source_length":{10**400},"delays":[1]}}',
            "log:1: source_length is 1000",
        ),
        ('{"prediction":"a","reference":"b","source_length":2,"delays":[' + "1" * 5000 + "]}", "log:1: not JSON: Exc"),
        ("[" * 100_000, "log:1: not JSON: maximum recursion depth exceeded"),
        ('{"prediction":"a b","reference":"b","source_length":2,"delays":[2,1]}', "log:1: delays go back"),
        (
            '{"prediction":"a","reference":"b","source_length":2,"delays":[-1]}',
            "log:1: delays go back, or begin below 0",
        ),
    ],
)
def test_an_instances_log_that_is_none(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "log").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_instances(tmp_path / "log")
    assert message in str(caught.value)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    stream = made_up(tmp_path, 1, timed=False)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "config.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="project is there and not empty; choose another place"):
        write(folder, "simuleval", [stream])
    assert [file.name for file in folder.iterdir()] == ["config.yaml"]
    assert (folder / "config.yaml").read_text(encoding="utf-8") == "mine"
    with pytest.raises(InputError, match=r"1\.source is there and is no folder"):
        write(stream[0], "simuleval", [stream])
    # What was converted before may be converted again.
    once = (write(tmp_path / "log", "simuleval", [stream]) / "instances.log").read_bytes()
    (tmp_path / "log" / "instances.log").write_text("", encoding="utf-8")
    assert (write(tmp_path / "log", "simuleval", [stream]) / "instances.log").read_bytes() == once


def test_a_stream_without_words_has_a_score_in_the_authors_logs_too(tmp_path: Path) -> None:
    source, reference, _ = made_up(tmp_path, 1, timed=False)
    total = len(source.read_text(encoding="utf-8").split())
    silent = tmp_path / "silent.jsonl"
    lines = trace_lines(Trace({}, (End(total, 0),)))
    silent.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    folder = write(tmp_path / "log", "actions", [(source, reference, silent)])
    files = {name: [folder / f"stream-000.{name}"] for name in ("source", "reference", "hypothesis", "actions")}
    logs = load_streams(files["source"], files["reference"], hypotheses=files["hypothesis"], actions=files["actions"])
    ours, again = report([(source, reference, silent)]), evaluate(logs, EVERYTHING)
    assert (again.bleu.value, again.empty, again.sentences) == (ours.bleu.value, 12, 12)
    assert (again.ap, again.al, again.dal) == (ours.ap, ours.al, ours.dal)


def test_a_stream_that_was_broken_off_gives_no_log(tmp_path: Path) -> None:
    source, reference, trace = made_up(tmp_path, 1, timed=False)
    lines = trace.read_text(encoding="utf-8").splitlines(keepends=True)
    trace.write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(InputError, match="the trace is not whole"):
        write(tmp_path / "log", "simuleval", [(source, reference, trace)])
    assert not (tmp_path / "log").exists()
