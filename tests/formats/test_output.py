"""What `turia translate` prints: text, JSON lines, subtitles, each from the same records."""

from __future__ import annotations

import io

import pytest

from tests.formats.cues import parse
from turia.formats.output import OutputFormat, TextOutput, output
from turia.stream.speakers import SPEAKER
from turia.stream.trace import End, Note, Record, SentenceEnd, Write, parse_trace

RECORDS: list[Record] = [
    Write("Good", 0, 2, 0, "policy", ms=1000.0),
    Write("morning.", 1, 3, 0, "policy", ms=1500.0),
    SentenceEnd(0, 3, 2, "segmenter"),
    Note("settings", 1, "k is 3"),
    Write("Thanks.", 2, 5, 1, "flush", ms=9000.0),
    SentenceEnd(1, 2, 1, "end"),
    End(5, 3),
]


def printed(kind: OutputFormat, records: list[Record] = RECORDS) -> str:
    file = io.StringIO()
    writer = output(kind, file, {"k": 2})
    for record in records:
        writer.write(record)
    return file.getvalue()


def test_text_has_a_sentence_a_line() -> None:
    assert printed("text") == "Good morning.\nThanks.\n"


def test_a_sentence_without_words_has_no_line() -> None:
    assert printed("text", [SentenceEnd(0, 2, 0, "segmenter"), *RECORDS]) == "Good morning.\nThanks.\n"


def test_text_of_words_alone() -> None:
    """As `turia send` writes it, which has messages in place of records."""
    file = io.StringIO()
    text = TextOutput(file)
    text.end_sentence()
    for word in ("Good", "morning."):
        text.word(word)
    text.end_sentence()
    text.end_sentence()
    assert file.getvalue() == "Good morning.\n"


@pytest.mark.parametrize("kind", ["text", "srt", "vtt"])
def test_no_word_gives_orders_to_a_terminal(kind: OutputFormat) -> None:
    """What somebody says into a server, or has recorded, is printed by `turia send`, `turia replay` and `curl`."""
    orders = ["\x1b]0;a\x07", "b\x00", "\x9b2J", "c\n\nd"]
    records: list[Record] = [Note(SPEAKER, 0, "A\x1b[2J")]
    records += [Write(word, i, 1, 0, "policy", 0.0) for i, word in enumerate(orders)]
    text = printed(kind, [*records, SentenceEnd(0, 4, 4, "flush")])
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]
    assert "\ufffd]0;a\ufffd b\ufffd \ufffd2J c\ufffd\ufffdd" in text
    assert printed("text", [Write("שלום\u200f", 0, 1, 0, "policy", 0.0)]) == "שלום\u200f", "marks of direction stay"


def test_json_lines_are_a_trace() -> None:
    trace = parse_trace(printed("jsonl").splitlines())
    assert list(trace.records) == RECORDS
    assert trace.settings["k"] == 2


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_subtitles_have_a_cue_a_sentence_that_begins_when_its_first_word_was_written(kind: OutputFormat) -> None:
    cues = parse(printed(kind))
    assert [cue.text for cue in cues] == ["Good morning.", "Thanks."]
    assert [cue.start for cue in cues] == [1000, 9000]
    assert printed(kind, RECORDS[:2]) == printed(kind, []), "a cue comes when it is complete"


def test_times_of_the_speech_come_before_those_of_the_clock() -> None:
    spoken: list[Record] = [
        Write("Good", 0, 2, 0, "policy", ms=1000.0, read_seconds=7.5),
        SentenceEnd(0, 3, 1, "segmenter"),
    ]
    assert [cue.start for cue in parse(printed("srt", spoken))] == [7500]


SPOKEN: list[Record] = [
    Note("speaker", 0, "Tom & Ann"),
    *RECORDS[:3],
    Write("Really.", 2, 4, 1, "policy", ms=4000.0),
    SentenceEnd(1, 1, 1, "segmenter"),
    Note("speaker", 2, "Bo"),
    Write("Thanks.", 3, 5, 2, "flush", ms=9000.0),
    SentenceEnd(2, 1, 1, "end"),
]


def test_a_line_begins_with_the_name_of_another_speaker() -> None:
    assert printed("text", SPOKEN) == "Tom & Ann: Good morning.\nReally.\nBo: Thanks.\n"
    assert [line for line in printed("srt", SPOKEN).splitlines() if line.endswith(".")] == [
        "Tom & Ann: Good morning.", "Really.", "Bo: Thanks."
    ]  # fmt: skip


def test_every_cue_of_webvtt_has_its_voice() -> None:
    assert [line for line in printed("vtt", SPOKEN).splitlines() if line.endswith(".")] == [
        "<v Tom &amp; Ann>Good morning.", "<v Tom &amp; Ann>Really.", "<v Bo>Thanks."
    ]  # fmt: skip
