"""`turia translate` around a stream: all formats, the trace, an interrupt."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.engine.fakes import Echo, TargetSeen, fake_model
from tests.formats.cues import parse
from turia.cli import main
from turia.commands.translate import _heard, translate
from turia.commands.translate import run as run_command
from turia.engine.backend import DecodeRequest, Logits
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import FormatError, InputError, ResourceError
from turia.export.random_model import write_random_folder
from turia.formats.output import OutputFormat
from turia.runtime.glossary_file import GlossaryFile
from turia.segmenter.online import GivenSegmenter
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail
from turia.stream.trace import Note, SentenceEnd, parse_trace

WORDS = ["ka", "le", "mi", "no", "pu"]


def stream() -> Stream:
    return Stream(fake_model(Echo()), GivenSegmenter([3, 2]), Settings(k=2))


def run(kind: OutputFormat) -> tuple[str, str]:
    out, trace = io.StringIO(), io.StringIO()
    assert not translate(stream(), map(SpokenWord, WORDS), kind, out, trace)
    return out.getvalue(), trace.getvalue()


def test_text_has_a_sentence_a_line() -> None:
    assert run("text")[0] == "ka le mi\nno pu\n"


def test_json_lines_are_the_trace() -> None:
    text, trace = run("jsonl")
    assert [json.loads(line).get("word") for line in text.splitlines() if '"write"' in line] == WORDS
    parsed = parse_trace(trace.splitlines())
    assert parsed.words() == WORDS
    assert parsed.delays() == [2, 3, 3, 5, 5]
    assert parsed.settings["k"] == 2
    assert all(write.ms is not None for write in parsed.writes())


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_subtitles_parse(kind: OutputFormat) -> None:
    text, _ = run(kind)
    assert [cue.text for cue in parse(text)] == ["ka le mi", "no pu"]


def test_words_are_written_at_once() -> None:
    """Each word read must show its consequence before the next is asked for."""
    out = io.StringIO()
    seen = []

    def speak() -> Iterator[SpokenWord]:
        for word in WORDS:
            yield SpokenWord(word)
            seen.append(out.getvalue())

    translate(stream(), speak(), "text", out)
    assert seen == ["", "ka", "ka le mi\n", "ka le mi\n", "ka le mi\nno pu\n"]


class Interrupted(Echo):
    """The signal comes while a step is computed."""

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetSeen, Logits]]:
        if not self.batches.count(0):
            self.batches.append(0)
            signal.raise_signal(signal.SIGINT)
        return super().decode(requests)


def test_an_interrupt_in_the_middle_of_a_word_loses_nothing() -> None:
    interrupted = Stream(fake_model(Interrupted()), GivenSegmenter([3, 2]), Settings(k=2))
    out, trace = io.StringIO(), io.StringIO()
    assert translate(interrupted, map(SpokenWord, WORDS), "text", out, trace) == signal.SIGINT
    assert out.getvalue() == "ka le\n"
    assert parse_trace(trace.getvalue().splitlines()).words() == ["ka", "le"]


def test_an_interrupt_finishes_what_was_read() -> None:
    def speak() -> Iterator[SpokenWord]:
        yield from map(SpokenWord, WORDS[:2])
        signal.raise_signal(signal.SIGTERM)
        yield SpokenWord("never")

    out, trace = io.StringIO(), io.StringIO()
    assert translate(stream(), speak(), "text", out, trace) == signal.SIGTERM
    assert out.getvalue() == "ka le\n"
    assert parse_trace(trace.getvalue().splitlines()).source_words() == 2


@pytest.mark.parametrize(("kind", "texts"), [("text", ["ka le\n"]), ("srt", ["ka le"])])
def test_a_bad_line_finishes_what_was_read_before_it(kind: OutputFormat, texts: list[str]) -> None:
    def speak() -> Iterator[SpokenWord]:
        yield from map(SpokenWord, WORDS[:2])
        raise FormatError("not JSON", "feed", 3)

    out, trace = io.StringIO(), io.StringIO()
    with pytest.raises(FormatError, match="feed:3: not JSON"):
        translate(stream(), speak(), kind, out, trace)
    written = out.getvalue()
    assert (texts == [written]) if kind == "text" else ([cue.text for cue in parse(written)] == texts)
    recorded = parse_trace(trace.getvalue().splitlines())
    assert (recorded.words(), recorded.source_words()) == (["ka", "le"], 2)


def test_a_source_that_is_not_there_costs_no_older_trace(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("kept", encoding="utf-8")
    with pytest.raises(InputError, match=r"missing: cannot be read: No such file"):
        run_command(stream(), tmp_path / "missing", "words", "text", old)
    assert old.read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("link", [None, "symbolic", "hard"])
def test_a_trace_is_not_written_over_its_source(tmp_path: Path, link: str | None) -> None:
    source = trace = tmp_path / "source"
    source.write_text("ka le mi no pu", encoding="utf-8")
    if link is not None:
        trace = tmp_path / "trace"
        trace.symlink_to(source) if link == "symbolic" else trace.hardlink_to(source)
    with pytest.raises(InputError, match="is the very file that is read"):
        run_command(stream(), source, "words", "text", trace)
    assert source.read_text(encoding="utf-8") == "ka le mi no pu"


def test_times_of_the_speech_go_to_the_trace_and_to_the_subtitles() -> None:
    spoken = [SpokenWord(word, 60 + i / 2, 60.4 + i / 2) for i, word in enumerate(WORDS)]
    out, written = io.StringIO(), io.StringIO()
    translate(stream(), spoken, "srt", out, written)
    trace = parse_trace(written.getvalue().splitlines())
    assert trace.source_ends() == [60.4, 60.9, 61.4, 61.9, 62.4]
    assert trace.delays_in_seconds() == [60.9, 61.4, 61.4, 62.4, 62.4]
    assert trace.delays() == [2, 3, 3, 5, 5]
    assert [cue.start for cue in parse(out.getvalue())] == [60_900, 62_400]


@pytest.mark.parametrize("began", [0.0, 1_763_000_000.0])
def test_subtitles_begin_with_the_speech_wherever_the_recogniser_counts_from(began: float) -> None:
    spoken = [SpokenWord(word, began + i / 2, began + i / 2 + 0.4) for i, word in enumerate(WORDS)]
    out, written = io.StringIO(), io.StringIO()
    translate(stream(), spoken, "vtt", out, written)
    trace = parse_trace(written.getvalue().splitlines())
    assert trace.delays_in_seconds() == [0.9, 1.4, 1.4, 2.4, 2.4]
    assert trace.source_ends() == [0.4, 0.9, 1.4, 1.9, 2.4]
    assert [cue.start for cue in parse(out.getvalue())] == [900, 2400]


def test_negative_times_are_counted_in_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    feed = tmp_path / "feed"
    feed.write_text("-500 -100 ka\n-100 400 le mi\n400 1900 no pu\n", encoding="utf-8")
    assert run_command(stream(), feed, "whisper", "srt", None) == 0
    out, told = capsys.readouterr()
    assert [cue.start for cue in parse(out)] == [150, 1900]
    assert told == "warning: 1 word came with a time before the beginning; taken for the beginning\n"


@pytest.mark.parametrize("fault", ["", "this is no number\n"])
def test_words_that_did_not_reach_the_model_are_counted_in_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """However it ends."""
    feed = tmp_path / "feed"
    feed.write_text(f"0 100 k\x07a\n100 400 le {'x' * 300}\n{fault}", encoding="utf-8")
    with pytest.raises(InputError, match="feed:3") if fault else nullcontext():
        run_command(stream(), feed, "whisper", "text", None)
    warning = "warning: 2 words did not reach the model as given (too long, no text, or in another script)\n"
    assert capsys.readouterr().err == warning


def test_a_source_that_breaks_off_finishes_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.RawIOBase):
        def __init__(self) -> None:
            self.given = [b"ka le mi ", b"no "]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any, /) -> int:
            if not self.given:
                raise OSError(errno.EIO, "Input/output error")
            chunk = self.given.pop(0)
            buffer[: len(chunk)] = chunk
            return len(chunk)

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Broken())))
    monkeypatch.setattr("sys.stdout", written := io.StringIO())
    trace = tmp_path / "trace"
    with pytest.raises(InputError, match="standard input: cannot be read any further: Input/output error"):
        run_command(stream(), None, "words", "text", trace)
    assert written.getvalue() == "ka le mi\nno\n"
    assert parse_trace(trace.read_text("utf-8").splitlines()).words() == ["ka", "le", "mi", "no"]


def test_a_trace_whose_reader_has_gone_is_said() -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    out = io.StringIO()
    with pytest.raises(ResourceError, match="the trace: cannot be written: Broken pipe"):
        translate(stream(), map(SpokenWord, WORDS), "text", out, Gone())
    with pytest.raises(BrokenPipeError):
        translate(stream(), map(SpokenWord, WORDS), "text", Gone())


def test_every_option_of_the_command_reaches_the_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_random_folder(tmp_path, "tiny", vocabulary=500)
    words = tmp_path / "words"
    words.write_text("Ka le mi. No pu.", encoding="utf-8")
    options = (
        "--k 3 --gamma 1.5 --history 7 --beam 2 --rounding ceil --encoding full --window 1 --punctuation --format jsonl"
    )
    assert main(["translate", str(words), "--model", str(tmp_path), *options.split()]) == 0
    header, *records = map(json.loads, capsys.readouterr().out.splitlines())
    chosen = {"k": 3, "gamma": 1.5, "history": 7, "beam": 2, "rounding": "ceil", "encoding": "full", "window": 1}
    assert {name: header[name] for name in chosen} == chosen
    assert [record["reason"] for record in records if record["type"] == "sentence"] == ["punctuation", "end"]


def test_a_lag_that_no_policy_looks_at_is_refused(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words"
    words.write_text("Ka le mi.", encoding="utf-8")
    limited = ["translate", str(words), "--model", str(model_folder), "--punctuation", "--max-lag", "3"]
    assert main([*limited, "--k", "2"]) == 2
    assert capsys.readouterr().err == "error: --max-lag has no effect with policy wait-k; leave it out\n"
    assert main([*limited, "--policy", "hold-n:n=2", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["max_lag"] == 3


def test_without_times_there_are_none() -> None:
    assert "seconds" not in run("jsonl")[1]
    assert "ends" not in run("jsonl")[1]


def heard_ends(words: list[Any], pause: float = 1.5) -> list[tuple[int, str]]:
    trace = io.StringIO()
    open_ended = Stream(fake_model(Echo()), GivenSegmenter([99]), Settings(k=9))
    translate(open_ended, words, "text", io.StringIO(), trace, pause=pause)
    records = parse_trace(trace.getvalue().splitlines()).records
    return [(end.source_words, end.reason) for end in records if isinstance(end, SentenceEnd)]


def test_a_silence_closes_the_sentence() -> None:
    assert heard_ends([SpokenWord("ka"), SpokenWord("le"), Silent(), SpokenWord("mi")]) == [(2, "pause"), (1, "end")]
    assert heard_ends([Silent(), SpokenWord("ka"), Silent(), Silent()]) == [(1, "pause")]


def test_a_gap_between_times_closes_the_sentence_unless_that_is_off() -> None:
    words = [SpokenWord("ka", 0.0, 0.5), SpokenWord("le", 0.6, 1.0), SpokenWord("mi", 7200.0, 7200.5)]
    assert heard_ends(words) == [(2, "pause"), (1, "end")]
    assert heard_ends(words, pause=0.0) == [(3, "end")]


def test_a_tail_brings_words_out_earlier_and_is_not_in_the_trace() -> None:
    trace = io.StringIO()
    heard: list[Heard] = [SpokenWord("ka"), SpokenWord("le"), UnstableTail("mi"), *map(SpokenWord, ("mi", "no", "pu"))]
    assert not translate(
        Stream(fake_model(Echo()), GivenSegmenter([5]), Settings(k=3)), heard, "text", io.StringIO(), trace
    )
    parsed = parse_trace(trace.getvalue().splitlines())
    assert parsed.words() == WORDS
    assert parsed.delays() == [2, 4, 5, 5, 5]


def test_silence_on_a_pipe_closes_the_sentence() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        items = _heard(file, "vosk", "pipe", pause=0.01, partials=False)
        pipe.write(b'{"text": "ka le"}\n{"partial": ""}\n')
        assert [next(items) for _ in range(3)] == [SpokenWord("ka"), SpokenWord("le"), Silent()]
        # A tail that nobody asked for says that somebody speaks, and no more.
        pipe.write(b'{"partial": "mi"}\n')
        assert next(items) == Silent()


def test_another_speaker_closes_the_sentence_and_is_named() -> None:
    spoken = [("ka", "Anna"), ("le", "Anna"), ("mi", "Bo"), ("no", None)]
    out, trace = io.StringIO(), io.StringIO()
    translated = Stream(fake_model(Echo()), GivenSegmenter([5]), Settings(k=2))
    translate(translated, [SpokenWord(word, speaker=name) for word, name in spoken], "text", out, trace)
    assert out.getvalue() == "Anna: ka le\nBo: mi no\n"
    notes = [
        (note.sentence, note.detail)
        for note in parse_trace(trace.getvalue().splitlines()).records
        if isinstance(note, Note)
    ]
    assert notes == [(0, "Anna"), (1, "Bo")]


def test_a_glossary_that_changes_holds_from_the_next_sentence_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.runtime.glossary_file.LOOK_SECONDS", 0.0)
    table = tmp_path / "terms.csv"
    table.write_text("le,punde\n")
    one = Stream(fake_model(Echo()), GivenSegmenter([3, 3]), Settings(k=1))

    def speak() -> Iterator[SpokenWord]:
        yield from map(SpokenWord, ["ka", "le"])
        table.write_text("le,rata\n")
        yield from map(SpokenWord, ["le", "ka", "le", "ka"])

    out = io.StringIO()
    translate(one, speak(), "text", out, terms=GlossaryFile(table, one.model, print))
    assert out.getvalue() == "ka punde punde\nka rata ka\n"
