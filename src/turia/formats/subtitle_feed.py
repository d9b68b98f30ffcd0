"""Subtitles as a feed: the words of SRT and WebVTT, each cue as soon as the blank line after it has come.

    1
    00:00:01,500 --> 00:00:04,000
    Guten Morgen.

The time of a cue is shared out among its words. Tags and positions are left out. The speaker is the one of a voice tag
of WebVTT (`<v Anna>Guten Morgen.`). Dashes in front of lines, with which subtitles mark that somebody else speaks, are
no words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from turia.errors import FormatError
from turia.formats.feed_words import shared_out, speaker_name
from turia.stream.times import Heard, Silent, SpokenWord

Kind = Literal["srt", "vtt"]
_STAMP = r"(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_TIMES = re.compile(rf"{_STAMP}\s+-->\s+{_STAMP}(?:\s.*)?")
# A tag has no other one begin in it, and what a pattern repeats can be matched in one way only: a line that begins ten
# thousand tags and ends none is read in one pass.
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")
_TAG = re.compile(r"</?[a-zA-Z\d][^<>]*>|\{\\[^{}]*\}")
_DASHES = re.compile(r"^\s*[-–—]\s*", re.MULTILINE)
_NO_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
LONGEST_BLOCK = 1000
"""Lines of a cue or of a comment."""


def subtitle_words(kind: Kind, lines: Iterable[str | None], path: str | None = None) -> Iterator[Heard]:
    """The words of all cues. A None among the lines is a silence."""
    block: list[str] = []
    number = begun = 0
    for line in lines:
        if line is None:
            yield Silent()
            continue
        number += 1
        text = line.strip()
        if text:
            begun = begun if block else number
            block.append(text)
            if len(block) > LONGEST_BLOCK:
                raise FormatError(f"a cue of more than {LONGEST_BLOCK} lines", path, begun)
        elif block:
            yield from _words(kind, block, path, begun)
            block = []
    if block:
        yield from _words(kind, block, path, begun)


def _words(kind: Kind, block: list[str], path: str | None, number: int) -> Iterator[SpokenWord]:
    """The words of a block between blank lines."""
    if kind == "vtt" and block[0].split()[0] in _NO_CUES:
        return
    at = next((i for i, line in enumerate(block[:2]) if "-->" in line), None)
    if at is None:
        if len(block) == 1 and block[0].isdigit():
            # The number of a cue that has no text.
            return
        raise FormatError("expected a cue: its number, `begin --> end`, its text", path, number)
    match = _TIMES.fullmatch(block[at])
    if match is None:
        raise FormatError(f"expected `00:00:01{',' if kind == 'srt' else '.'}500 --> 00:00:04...`", path, number + at)
    start, end = _seconds(*match.groups()[:4]), _seconds(*match.groups()[4:])
    spoken = _spoken(kind, "\n".join(block[at + 1 :]))
    words = [(word, speaker) for speaker, text in spoken for word in text.split()]
    shared = shared_out(" ".join(word for word, _ in words), start, max(start, end))
    for word, (_, speaker) in zip(shared, words, strict=True):
        yield SpokenWord(word.text, word.start, word.end, speaker)


def _spoken(kind: Kind, text: str) -> Iterator[tuple[str | None, str]]:
    """What each speaker says, without marks."""
    parts = _VOICE.split(text) if kind == "vtt" else [text]
    # Before the first voice tag, nobody is named.
    for speaker, said in zip([None, *parts[1::2]], parts[::2], strict=True):
        plain = _TAG.sub("", _DASHES.sub("", said))
        if kind == "vtt":
            plain, speaker = html.unescape(plain), None if speaker is None else html.unescape(speaker)
        yield speaker_name(speaker), plain


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    # Three digits are milliseconds; some programs write fewer.
    return round(3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + float(f"0.{fraction}"), 3)
