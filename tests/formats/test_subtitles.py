"""Subtitles: within two lines of 42 characters, in order, and read back by a parser as what was said."""

from __future__ import annotations

import io
import itertools
from datetime import timedelta

import pytest
import srt
import webvtt
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.cues import parse
from turia.formats.subtitles import (
    LINE,
    LINES,
    MOST_CHARACTERS_PER_SECOND,
    SHORTEST_MS,
    Cue,
    CueMaker,
    Format,
    escape,
    format_cue,
    header,
    wrap,
)

words = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=300), st.booleans()
    ),
    min_size=1,
    max_size=60,
)


def cues_of(said: list[tuple[str, bool]], pace: float) -> list[Cue]:
    """Cues of words spoken every `pace` milliseconds; True ends a sentence."""
    maker, cues = CueMaker(), list[Cue]()
    for number, (word, ends) in enumerate(said):
        cues += maker.push(word, number * pace)
        if ends:
            cues += maker.end_sentence()
    return cues + maker.end_sentence()


@pytest.mark.slow
@given(said=words, pace=st.floats(10, 3000))
def test_cues_hold_all_words_in_two_short_lines_one_after_the_other(said: list[tuple[str, bool]], pace: float) -> None:
    cues = cues_of(said, pace)
    text = "".join("".join(cue.text.split()) for cue in cues)
    assert text == "".join(word for word, _ in said)
    for cue in cues:
        assert len(cue.text.splitlines()) <= LINES
        assert max(map(len, cue.text.split("\n"))) <= LINE
        assert cue.end - cue.start >= SHORTEST_MS - 1e-6
        assert len(cue.text) / (cue.end - cue.start) * 1000 <= MOST_CHARACTERS_PER_SECOND + 1e-6
    assert all(one.end <= other.start for one, other in itertools.pairwise(cues))


def test_a_word_that_two_lines_cannot_hold_goes_on_in_the_next_cue() -> None:
    cues = cues_of([("so", False), ("x" * 130, False), ("and", True)], 400)
    assert [[len(line) for line in cue.text.split("\n")] for cue in cues] == [[2], [42, 42], [42, 8]]
    assert cues[-1].text.endswith("xxxx and")


def test_a_sentence_end_closes_the_cue() -> None:
    cues = cues_of([("Good", False), ("morning.", True), ("Thank", False), ("you.", True)], 400)
    assert [cue.text for cue in cues] == ["Good morning.", "Thank you."]
    assert cues[0].start == 0


def test_a_cue_stays_as_long_as_reading_takes() -> None:
    (cue,) = cues_of([("x" * 17, False), ("y" * 16, True)], 10)
    assert cue.end - cue.start == pytest.approx(2000)


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_files_parse_and_nothing_in_the_text_is_taken_for_markup(kind: Format) -> None:
    cues = [Cue("Tom & Jerry", 0, 1500), Cue("a --> b", 1500, 3725_001), Cue("1 < 2", 3725_001, 3726_000)]
    text = header(kind) + "".join(format_cue(cue, number, kind) for number, cue in enumerate(cues, start=1))
    read = parse(text)
    assert [(cue.start, cue.end) for cue in read] == [(cue.start, cue.end) for cue in cues]
    assert len(read) == 3
    assert text.count(" --> ") == 3


def test_exact_text_of_both_formats() -> None:
    cue = Cue("Good\nmorning.", 61_234, 3_600_001)
    assert format_cue(cue, 7, "srt") == "7\n00:01:01,234 --> 01:00:00,001\nGood\nmorning.\n\n"
    assert format_cue(cue, 7, "vtt") == "7\n00:01:01.234 --> 01:00:00.001\nGood\nmorning.\n\n"


def test_escapes() -> None:
    assert escape("<b>&", "vtt") == "&lt;b&gt;&amp;"
    assert "<" not in escape("<b> {x} -->", "srt")


def file_of(cues: list[Cue], kind: Format) -> str:
    return header(kind) + "".join(format_cue(cue, number, kind) for number, cue in enumerate(cues, start=1))


@given(said=words, pace=st.floats(10, 3000))
def test_a_parser_that_is_not_ours_reads_every_srt(said: list[tuple[str, bool]], pace: float) -> None:
    cues = cues_of(said, pace)
    read = list(srt.parse(file_of(cues, "srt"), ignore_errors=False))
    assert [cue.content for cue in read] == [escape(cue.text, "srt") for cue in cues]
    assert [cue.start for cue in read] == [timedelta(milliseconds=round(cue.start)) for cue in cues]
    assert [cue.end for cue in read] == [timedelta(milliseconds=round(cue.end)) for cue in cues]


@given(said=words, pace=st.floats(10, 3000))
def test_a_parser_that_is_not_ours_reads_every_vtt(said: list[tuple[str, bool]], pace: float) -> None:
    cues = cues_of(said, pace)
    read = webvtt.from_buffer(io.StringIO(file_of(cues, "vtt"))).captions
    assert [cue.raw_text for cue in read] == [escape(cue.text, "vtt") for cue in cues]
    assert [round(1000 * cue.start_in_seconds) // 1000 for cue in read] == [round(cue.start) // 1000 for cue in cues]


@pytest.mark.parametrize("hours", [0, 99, 100, 1000])
def test_a_session_may_last_for_weeks(hours: int) -> None:
    cue = Cue("late", hours * 3_600_000 + 61_002, hours * 3_600_000 + 62_500)
    (from_srt,) = srt.parse(file_of([cue], "srt"))
    assert (from_srt.start, from_srt.end) == (timedelta(milliseconds=cue.start), timedelta(milliseconds=cue.end))
    assert f"\n{hours:02}:01:01.002 --> {hours:02}:01:02.500\n" in file_of([cue], "vtt")


def test_what_looks_like_markup_is_read_as_text_by_others() -> None:
    text = "<b>2</b> --> 3 & {y:i}"
    cue = Cue(text, 0, 2000)
    (from_srt,) = srt.parse(file_of([cue], "srt"))
    (from_vtt,) = webvtt.from_buffer(io.StringIO(file_of([cue], "vtt"))).captions
    assert not any(mark in from_srt.content for mark in ("-->", "<", ">", "{", "}"))
    assert from_vtt.raw_text == "&lt;b&gt;2&lt;/b&gt; --&gt; 3 &amp; {y:i}"


def test_a_line_has_42_characters_and_nobody_reads_more_than_21_a_second() -> None:
    assert [len(line) for line in wrap(["a" * 43])] == [42, 1]
    maker = CueMaker()
    assert maker.push("a" * 42, 0) == maker.push("b" * 42, 0) == []
    (cue,) = maker.push("c", 0)
    assert cue.end - cue.start >= 1000 * 84 / 21
