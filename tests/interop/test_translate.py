"""`turia translate` around a stream: all formats, the trace, an interrupt."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.interop.output import OutputFormat
from turia.interop.subtitles import parse
from turia.interop.translate import translate
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import parse_trace

WORDS = ["ka", "le", "mi", "no", "pu"]


def stream() -> Stream:
    return Stream(fake_model(Echo()), GivenSegmenter([3, 2]), Settings(k=2))


def run(kind: OutputFormat) -> tuple[str, str]:
    out, trace = io.StringIO(), io.StringIO()
    assert not translate(stream(), WORDS, kind, out, trace)
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

    def speak() -> Iterator[str]:
        for word in WORDS:
            yield word
            seen.append(out.getvalue())

    translate(stream(), speak(), "text", out)
    assert seen == ["", "ka", "ka le mi\n", "ka le mi\n", "ka le mi\nno pu\n"]


def test_an_interrupt_finishes_what_was_read() -> None:
    def speak() -> Iterator[str]:
        yield from WORDS[:2]
        raise KeyboardInterrupt

    out, trace = io.StringIO(), io.StringIO()
    assert translate(stream(), speak(), "text", out, trace)
    assert out.getvalue() == "ka le\n"
    assert parse_trace(trace.getvalue().splitlines()).source_words() == 2
