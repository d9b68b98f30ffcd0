"""Subtitle files as feeds: words, times and voices come out, marks do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import FormatError
from turia.formats.subtitle_feed import Kind, subtitle_words
from turia.formats.subtitles import Cue, format_cue, header
from turia.stream.times import Silent, SpokenWord

SRT = """1
00:00:01,500 --> 00:00:02,500
<i>Guten</i> {\\an8}Morgen.

2
00:00:03,000 --> 00:00:04,000 X1:40 X2:600
- Ja!
- Nein, 5 < 6.

3

"""
VTT = """WEBVTT - a talk
X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000

NOTE
nothing to say

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start position:0%
<v.loud Anna &amp; Bo>Tom &amp; <c.red>Jerry</c></v>

01:00:00.000 --> 01:00:02.000
Er <v Carl>sagt:</v> <v Anna>ja
"""


def heard(kind: Kind, text: str) -> list[tuple[str, float | None, float | None, str | None]]:
    lines = text.splitlines(keepends=True)
    return [(w.text, w.start, w.end, w.speaker) for w in subtitle_words(kind, lines) if isinstance(w, SpokenWord)]


def test_srt() -> None:
    assert heard("srt", SRT) == [
        ("Guten", 1.5, 2.0, None), ("Morgen.", 2.0, 2.5, None),
        ("Ja!", 3.0, 3.2, None), ("Nein,", 3.2, 3.4, None), ("5", 3.4, 3.6, None), ("<", 3.6, 3.8, None),
        ("6.", 3.8, 4.0, None),
    ]  # fmt: skip


def test_webvtt_with_voices() -> None:
    assert heard("vtt", VTT) == [
        ("Tom", 1.0, 1.333, "Anna & Bo"), ("&", 1.333, 1.667, "Anna & Bo"), ("Jerry", 1.667, 2.0, "Anna & Bo"),
        ("Er", 3600.0, 3600.667, None), ("sagt:", 3600.667, 3601.333, "Carl"), ("ja", 3601.333, 3602.0, "Anna"),
    ]  # fmt: skip


def test_a_cue_comes_out_with_the_blank_line_after_it_and_silence_goes_through() -> None:
    lines = iter(["1\n", "00:00:01,000 --> 00:00:02,000\n", "Ja\n", None, "\n", "2\n"])
    words = subtitle_words("srt", lines)
    assert isinstance(next(words), Silent)
    assert next(words) == SpokenWord("Ja", 1.0, 2.0)
    assert next(lines) == "2\n", "nothing was read ahead"


@pytest.mark.parametrize(
    ("kind", "text", "complaint"),
    [
        ("srt", "Guten Morgen\n", "feed:1: expected a cue"),
        ("srt", "\n\n1\n00:00:01 --> 00:00:02\nJa\n", "feed:4: expected `00:00:01,500 --> 00:00:04...`"),
        ("vtt", "WEBVTT\n\n1\n1.000 --> 2.000\nJa\n", "feed:4: expected `00:00:01.500 --> 00:00:04...`"),
        ("srt", "1\n00:00:0\u0661,000 --> 00:00:02,000\nJa\n", "feed:2: expected `00:00:01,500 --> 00:00:04...`"),
        ("srt", "1\n" * 1001, "feed:1: a cue of more than 1000 lines"),
    ],
)
def test_what_is_no_subtitle_file_is_named(kind: Kind, text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(subtitle_words(kind, text.splitlines(keepends=True), "feed"))
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("begun", ["<a", "<v a", "<v.", "<v" + " " * 10, "{\\", "</b"])
@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_tags_that_never_end_are_text_and_take_no_time(kind: Kind, begun: str) -> None:
    """A line of 60 KB that begins tags took twenty seconds, one of a megabyte hours."""
    text = begun * 100_000
    [*_, (last, _, end, _)] = heard(kind, f"1\n00:00:01.000 --> 00:00:02.000\n{text}x\n")
    assert (last, end) == ((begun * 100_000 + "x").split()[-1], 2.0)


# Dashes and angle brackets mean something at some places; what is written there by us is escaped (test_subtitles.py).
WORDS = st.lists(st.text("abcäß.,!?&", min_size=1, max_size=12), min_size=1, max_size=8)


@given(WORDS, st.sampled_from(["Anna", "Tom & <Jerry>"]))
def test_what_we_write_is_read_again(words: list[str], speaker: str) -> None:
    cue = Cue(" ".join(words), 1000.0, 3000.0, speaker)
    found = heard("vtt", header("vtt") + format_cue(cue, 1, "vtt"))
    assert [(word, name) for word, _, _, name in found] == [(word, speaker) for word in words]
    assert (found[0][1], found[-1][2]) == (1.0, 3.0)
