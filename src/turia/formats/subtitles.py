"""Subtitles, written while the speech goes on: SRT and WebVTT.

A cue has at most two lines of 42 characters; a word that needs more goes on in the next cue. It is closed when it is
full, when a sentence ends, or when its first word has been up for long enough; it stays as long as it takes to read in
comfort, or in haste if the next one must take its place. Who speaks faster than can be read has later cues, not
unreadable ones.
`-->` and tags in the text are escaped, so that no word can be read as part of the format.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from pysubs2.time import ms_to_times

Format = Literal["srt", "vtt"]
LINE, LINES = 42, 2
CHARACTERS_PER_SECOND, MOST_CHARACTERS_PER_SECOND = 17, 21
"""Read in comfort, and in haste."""
LONGEST_MS, SHORTEST_MS = 6000.0, 1000.0


@dataclass(frozen=True)
class Cue:
    """A text on the screen, from and until, in milliseconds since the stream began."""

    text: str
    start: float
    end: float
    speaker: str | None = None


class CueMaker:
    """Words with times in, cues out."""

    def __init__(self) -> None:
        self.speaker: str | None = None
        """Who says the words; to be set between two cues."""
        self._words: list[str] = []
        self._start = 0.0
        self._last = 0.0
        self._free_from = 0.0
        """Until then the last cue is on the screen."""

    def push(self, word: str, ms: float) -> list[Cue]:
        """A word written at `ms`; the cues that are thereby complete."""
        parts = [word[begin : begin + LINE * LINES] for begin in range(0, len(word), LINE * LINES)]
        return [cue for part in parts for cue in self._push(part, ms)]

    def _push(self, word: str, ms: float) -> list[Cue]:
        """A word that two lines can hold."""
        cues = []
        if self._words and (not fits([*self._words, word]) or ms - self._start > LONGEST_MS):
            cues = self._close(until=ms)
        if not self._words:
            self._start = max(ms, self._free_from)
        self._words.append(word)
        self._last = max(ms, self._last)
        return cues

    def end_sentence(self) -> list[Cue]:
        """The sentence is over; so is its cue."""
        return self._close(until=None)

    def _close(self, until: float | None) -> list[Cue]:
        if not self._words:
            return []
        text = "\n".join(wrap(self._words))
        read_by = self._start + max(SHORTEST_MS, 1000 * len(text) / CHARACTERS_PER_SECOND)
        end = max(read_by, self._last + SHORTEST_MS / 2)
        if until is not None:
            hasty = max(SHORTEST_MS, 1000 * len(text) / MOST_CHARACTERS_PER_SECOND)
            end = min(end, max(until, self._start + hasty))
        self._words, self._free_from = [], end
        return [Cue(text, self._start, end, self.speaker)]


def wrap(words: list[str]) -> list[str]:
    """Lines of at most 42 characters; a longer word is broken."""
    return textwrap.wrap(" ".join(words), LINE, break_on_hyphens=False)


def fits(words: list[str]) -> bool:
    return len(wrap(words)) <= LINES


def header(kind: Format) -> str:
    """What comes before the first cue."""
    return "WEBVTT\n\n" if kind == "vtt" else ""


def format_cue(cue: Cue, number: int, kind: Format) -> str:
    """One cue, numbered from 1, with the blank line after it."""
    start, end = _stamp(cue.start, kind), _stamp(cue.end, kind)
    voice = f"<v {escape(cue.speaker, kind)}>" if kind == "vtt" and cue.speaker is not None else ""
    return f"{number}\n{start} --> {end}\n{voice}{escape(cue.text, kind)}\n\n"


def _stamp(ms: float, kind: Format) -> str:
    """A time of the file. Hours have as many digits as they need: a session may last for weeks."""
    hours, minutes, seconds, rest = ms_to_times(max(0, round(ms)))
    return f"{hours:02}:{minutes:02}:{seconds:02}{'.' if kind == 'vtt' else ','}{rest:03}"


def escape(text: str, kind: Format) -> str:
    """Text that no parser takes for a tag or a time line."""
    if kind == "vtt":
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # SRT has no escapes: look-alikes that no parser knows.
    return (
        text.replace("-->", "--\u200b>")
        .replace("<", "\u2039")
        .replace(">", "\u203a")
        .replace("{", "(")
        .replace("}", ")")
    )
