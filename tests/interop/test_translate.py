"""`turia translate` around a stream: all formats, the trace, an interrupt."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.engine.fakes import Echo, TargetSeen, fake_model
from turia.engine.model import Logits
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import FormatError, InputError
from turia.interop.output import OutputFormat
from turia.interop.subtitles import parse
from turia.interop.translate import run as run_command
from turia.interop.translate import translate
from turia.runtime.session import DecodeRequest
from turia.segmenter.online import GivenSegmenter
from turia.stream.times import SpokenWord, sentence_seconds
from turia.stream.trace import parse_trace

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
    assert sentence_seconds(trace.source_ends() or [], [3, 2]) == pytest.approx([1.4, 1.0])
    assert [cue.start for cue in parse(out.getvalue())] == [900, 2400]


def test_negative_times_are_counted_in_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    feed = tmp_path / "feed"
    feed.write_text("-500 -100 ka\n-100 400 le mi\n400 1900 no pu\n", encoding="utf-8")
    assert run_command(stream(), feed, "whisper", "srt", None) == 0
    out, told = capsys.readouterr()
    assert [cue.start for cue in parse(out)] == [150, 1900]
    assert told == "warning: 1 word came with a time before the beginning; taken for the beginning\n"


def test_without_times_there_are_none() -> None:
    assert "seconds" not in run("jsonl")[1]
    assert "ends" not in run("jsonl")[1]
