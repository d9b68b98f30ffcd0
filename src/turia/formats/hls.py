"""Captions as a track of HTTP Live Streaming: a playlist, and WebVTT segments of equal length (RFC 8216). Pure.

Times in segments are those of the session. `X-TIMESTAMP-MAP` says which time of the video its beginning is, in ticks of
90 kHz. A cue stands in each segment that it overlaps, as players show only what the segment of now has. The same cues
always give the same files.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil

from turia.errors import FormatError
from turia.formats.subtitles import Cue, format_cue

SEGMENT_SECONDS = 6.0
USUAL_START = 900_000
"""Ticks at which segmenters of videos usually begin."""
PLAYLIST = "captions.m3u8"
LOCAL_ZERO = "00:00:00.000"
LONGEST_DAYS = 7
"""Of a track. Each six seconds are a file: who says that a session is a thousand years old would fill the disk."""


@dataclass(frozen=True)
class HlsFile:
    name: str
    content: str


class HlsCaptions:
    """Cues in, files out; the playlist comes after the segments that it names."""

    def __init__(self, began: float, mpegts: int = USUAL_START, seconds: float = SEGMENT_SECONDS) -> None:
        """`began` is the Unix time at which the session's clock shows 0."""
        self._began, self._mpegts, self._seconds = began, mpegts, seconds
        self._cues: list[tuple[int, Cue]] = []
        """With their numbers; those that may still be on the screen."""
        self._number = 0
        self._segments = 0

    def push(self, cue: Cue) -> None:
        """The next cue."""
        self._number += 1
        self._cues.append((self._number, cue))

    def until(self, seconds: float) -> list[HlsFile]:
        """Gives the segments that are over at this second of the session. No cue that begins before it may come now."""
        _check_length(seconds)
        files = []
        while (self._segments + 1) * self._seconds <= seconds:
            files.append(self._segment())
        return [*files, HlsFile(PLAYLIST, self._playlist(ended=False))] if files else []

    def finish(self, seconds: float) -> list[HlsFile]:
        """Gives the segments that are left of a session that ended at this second."""
        last = max([seconds, *(cue.end / 1000 for _, cue in self._cues)])
        _check_length(last)
        files = []
        while self._segments * self._seconds < last:
            files.append(self._segment())
        return [*files, HlsFile(PLAYLIST, self._playlist(ended=True))]

    def _segment(self) -> HlsFile:
        begin, end = (1000 * self._seconds * (self._segments + i) for i in (0, 1))
        shown = [(number, cue) for number, cue in self._cues if cue.start < end and cue.end > begin]
        self._cues = [(number, cue) for number, cue in self._cues if cue.end > end]
        head = f"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:{self._mpegts},LOCAL:{LOCAL_ZERO}\n\n"
        made = HlsFile(self._name(self._segments), head + "".join(format_cue(cue, n, "vtt") for n, cue in shown))
        self._segments += 1
        return made

    def _playlist(self, ended: bool) -> str:
        began = datetime.fromtimestamp(round(self._began, 3), UTC).isoformat(timespec="milliseconds")
        lines = [
            "#EXTM3U",
            "#EXT-X-VERSION:3",
            f"#EXT-X-TARGETDURATION:{ceil(self._seconds)}",
            "#EXT-X-MEDIA-SEQUENCE:0",
            "#EXT-X-PLAYLIST-TYPE:EVENT",
            f"#EXT-X-PROGRAM-DATE-TIME:{began}",
        ]
        for index in range(self._segments):
            lines += [f"#EXTINF:{self._seconds:.3f},", self._name(index)]
        return "\n".join([*lines, *(["#EXT-X-ENDLIST"] if ended else [])]) + "\n"

    def _name(self, index: int) -> str:
        return f"captions-{index:06d}.vtt"


def _check_length(seconds: float) -> None:
    if seconds > 86_400 * LONGEST_DAYS:
        raise FormatError(
            f"the session's clock shows {seconds / 86_400:.0f} days, expected at most {LONGEST_DAYS} for a track of "
            "HLS; begin another session"
        )
