"""A track for HLS: segments of equal length, cues in each that they overlap, a playlist that only grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.cues import parse
from turia.errors import FormatError
from turia.formats.hls import PLAYLIST, HlsCaptions, HlsFile
from turia.formats.subtitles import Cue

BEGAN = 1_356_307_206.873


def named(files: list[HlsFile]) -> dict[str, str]:
    return {file.name: file.content for file in files}


def test_a_cue_stands_in_each_segment_that_it_overlaps() -> None:
    track = HlsCaptions(BEGAN, mpegts=126_000)
    track.push(Cue("one", 1000.0, 2000.0))
    track.push(Cue("two", 5000.0, 7000.0, "Anna"))
    assert track.until(5.9) == []
    files = named(track.until(12.5))
    assert list(files) == ["captions-000000.vtt", "captions-000001.vtt", PLAYLIST]
    assert files["captions-000000.vtt"] == (
        "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:126000,LOCAL:00:00:00.000\n\n"
        "1\n00:00:01.000 --> 00:00:02.000\none\n\n"
        "2\n00:00:05.000 --> 00:00:07.000\n<v Anna>two\n\n"
    )
    assert files["captions-000001.vtt"].endswith("\n\n2\n00:00:05.000 --> 00:00:07.000\n<v Anna>two\n\n")
    assert files[PLAYLIST] == (
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:EVENT\n"
        "#EXT-X-PROGRAM-DATE-TIME:2012-12-24T00:00:06.873+00:00\n"
        "#EXTINF:6.000,\ncaptions-000000.vtt\n#EXTINF:6.000,\ncaptions-000001.vtt\n"
    )
    assert track.until(17.9) == []


def test_the_end_of_the_session_ends_the_playlist_when_the_last_cue_has_gone() -> None:
    track = HlsCaptions(BEGAN)
    track.push(Cue("late", 5000.0, 13000.0))
    files = named(track.finish(5.5))
    assert [name for name in files if name != PLAYLIST] == [f"captions-00000{i}.vtt" for i in range(3)]
    assert files[PLAYLIST].endswith("captions-000002.vtt\n#EXT-X-ENDLIST\n")


@given(
    st.lists(st.tuples(st.floats(0, 5000), st.floats(1000, 6000)), max_size=20),
    st.lists(st.floats(0, 60), max_size=10).map(sorted),
)
def test_files_do_not_depend_on_when_they_were_asked_for_and_no_cue_is_lost(
    gaps: list[tuple[float, float]], times: list[float]
) -> None:
    cues, at = [], 0.0
    for number, (gap, length) in enumerate(gaps):
        cues.append(Cue(f"c{number}", at + gap, at + gap + length))
        at += gap + length
    at_once, in_steps = HlsCaptions(BEGAN), HlsCaptions(BEGAN)
    for cue in cues:
        at_once.push(cue)
    whole = named(at_once.finish(1.0))
    made: dict[str, str] = {}
    for seconds in times:
        while cues and cues[0].start < 1000 * seconds:
            in_steps.push(cues.pop(0))
        # A playlist that was given keeps its lines.
        new = named(in_steps.until(min(seconds, at / 1000)))
        assert new.get(PLAYLIST, made.get(PLAYLIST, "")).startswith(made.get(PLAYLIST, ""))
        made |= new
    for cue in cues:
        in_steps.push(cue)
    assert made | named(in_steps.finish(1.0)) == whole
    shown = {cue.text for name, text in whole.items() if name != PLAYLIST for cue in parse(text)}
    assert shown == {f"c{number}" for number in range(len(gaps))}


def test_a_track_is_no_longer_than_a_week() -> None:
    """Who says that the session is older would have us write files without end."""
    week = 7 * 86_400.0
    with pytest.raises(FormatError, match="the session's clock shows 8 days, expected at most 7 for a track of HLS"):
        HlsCaptions(BEGAN).until(8 / 7 * week)
    track = HlsCaptions(BEGAN)
    track.push(Cue("one", 0.0, 1e15))
    with pytest.raises(FormatError, match="expected at most 7"):
        track.finish(1.0)
