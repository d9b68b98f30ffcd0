"""Subtitle files read back."""

from __future__ import annotations

import pysubs2

from turia.formats.subtitles import Cue


def parse(text: str) -> list[Cue]:
    """The cues of an SRT or WebVTT file."""
    return [Cue(event.plaintext, event.start, event.end) for event in pysubs2.SSAFile.from_string(text)]
