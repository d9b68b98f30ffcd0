"""The messages of WhisperLiveKit (its WebSocket /asr), as words and the tail behind them.

    {"lines": [{"speaker": 1, "text": "...", "start": "0:00:00", "end": "0:00:03"}, ...], "buffer_transcription": "..."}

Each message has all lines that are still kept, and the last ones grow. So a word is new if it stands behind those that
came before. In the mode `diff` a message has only the lines that are new (`new_lines`, `n_lines`, `lines_pruned`).
What was given out stays as it was, even if the recogniser changes its mind about it.

Lines of speaker -2 are silences. A server that does not tell voices apart calls all of them 1, so a first speaker 1 has
no name until another one has spoken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from turia.formats.feed_words import shared_out, speaker_name
from turia.stream.times import Heard, UnstableTail

SILENCE = -2
_CLOCK = re.compile(r"(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,6})?)")


@dataclass(frozen=True)
class _Line:
    text: str
    start: float | None
    end: float | None
    speaker: str | None

    @property
    def words(self) -> int:
        return len(self.text.split())


class WhisperLiveKit:
    """Messages in, what is new in them out."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._given = 0
        """Words of these lines that were given out."""
        self._heard_until: float | None = None
        self._names_voices = False

    def push(self, message: dict[str, Any]) -> list[Heard]:
        """What is new. Messages about the connection say nothing."""
        if message.get("error"):
            raise ValueError(f"WhisperLiveKit failed: {str(message['error'])[:200]}")
        if "lines" in message:
            lines = [self._line(line) for line in message["lines"]]
            gone = self._gone_before(lines)
        elif "n_lines" in message:
            new = [self._line(line) for line in message.get("new_lines", [])]
            gone = _count(message.get("lines_pruned", 0))
            kept = max(0, _count(message["n_lines"]) - len(new))
            lines = self._lines[gone:][:kept] + new
        else:
            return []
        self._given = max(0, self._given - sum(line.words for line in self._lines[:gone]))
        self._lines = lines
        return [*self._new_words(), self._tail(message)]

    def _line(self, line: dict[str, Any]) -> _Line:
        speaker = line.get("speaker")
        text = "" if speaker == SILENCE else line.get("text") or ""
        if not isinstance(text, str):
            raise ValueError(f"text is {text!r:.30}, expected text")
        self._names_voices = self._names_voices or (speaker not in (None, 1, -1, SILENCE) and bool(text))
        name = speaker_name(speaker) if self._names_voices and speaker != SILENCE else None
        return _Line(text, _seconds(line.get("start", line.get("beg"))), _seconds(line.get("end")), name)

    def _gone_before(self, lines: list[_Line]) -> int:
        """How many of the old lines are not among the new ones: long sessions drop their first."""
        if not lines or not self._lines:
            return 0
        for gone, old in enumerate(self._lines):
            if old.start == lines[0].start:
                return gone
        last, first = self._lines[-1].start, lines[0].start
        return len(self._lines) if last is not None and first is not None and first > last else 0

    def _new_words(self) -> list[Heard]:
        found: list[Heard] = []
        before = 0
        for line in self._lines:
            words = line.text.split()
            new = words[max(0, self._given - before) :]
            if new:
                start = line.start
                if start is not None and self._heard_until is not None and len(new) < len(words):
                    # The rest of a line that has grown.
                    start = max(start, self._heard_until)
                end = line.end if line.end is None or start is None else max(start, line.end)
                found += shared_out(" ".join(new), start, end, line.speaker)
                self._heard_until = end if end is not None else self._heard_until
            before += len(words)
        self._given = max(self._given, before)
        return found

    def _tail(self, message: dict[str, Any]) -> UnstableTail:
        # What waits for its speaker was said before what waits to be settled.
        parts = [str(message.get(f"buffer_{name}") or "") for name in ("diarization", "transcription")]
        return UnstableTail(" ".join(" ".join(parts).split()))


def _seconds(value: Any) -> float | None:
    """`0:01:02`, `01:02.5`, or seconds."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"time {value!r:.30}, expected H:MM:SS")
    return 3600.0 * int(match[1] or 0) + 60.0 * int(match[2]) + float(match[3])


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a number of lines is {value!r:.30}, expected a whole number")
    return value
