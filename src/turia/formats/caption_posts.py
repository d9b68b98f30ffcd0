"""Captions as YouTube Live and Zoom take them: texts for HTTP POSTs, and addresses with their numbers. Pure.

Both want a continuous sequence of POSTs of text/plain in UTF-8. `seq` in the address grows by one with each new POST,
and not when one is tried again.

    YouTube   2012-12-24T00:00:06.873       when it was said, in UTC; several captions may share a POST
              I'm sending<br>captions
    Zoom      I'm sending                   a piece of a line as it comes; a newline ends the line
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import Literal, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from turia.formats.subtitles import Cue

Service = Literal["youtube", "zoom"]
TOO_OLD = 60.0
"""Seconds after which a caption is not worth posting: the picture has gone on."""
MOST_TOGETHER = 20
"""Captions of one POST to YouTube."""
ZOOM_LANGUAGES = {"en": "en-US", "ja": "jp-JP", "zh": "zh-CN", "ko": "ko-KR"}
"""As Zoom writes them; in others the country is spelt as the language."""


class Waiting(Protocol):
    """Captions that wait to be posted."""

    dropped: int
    """Captions, or words, that had become too old."""

    def take(self, now: float) -> str | None:
        """The text of the next POST, at this Unix time; None if nothing waits."""
        ...


class YouTubeCaptions:
    """Cues in, texts of POSTs out."""

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: deque[tuple[float, str]] = deque()

    def push(self, cue: Cue, spoken: float) -> None:
        """A cue, and the Unix time at which it begins."""
        self._waiting.append((spoken, one_line(cue.text).replace("\n", "<br>")))

    def take(self, now: float) -> str | None:
        while self._waiting and self._waiting[0][0] < now - TOO_OLD:
            self._waiting.popleft()
            self.dropped += 1
        found = [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]
        return "".join(f"{utc(spoken)}\n{text}\n" for spoken, text in found) or None


class ZoomCaptions:
    """Words and ends of lines in, texts of POSTs out."""

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: deque[tuple[float, str]] = deque()
        self._line_begun = False

    def word(self, word: str, spoken: float) -> None:
        text = one_line(word)
        self._waiting.append((spoken, f" {text}" if self._line_begun else text))
        self._line_begun = True

    def end_line(self, spoken: float) -> None:
        if self._line_begun:
            self._waiting.append((spoken, "\n"))
        self._line_begun = False

    def take(self, now: float) -> str | None:
        found = ""
        while self._waiting:
            spoken, text = self._waiting.popleft()
            if spoken >= now - TOO_OLD:
                found += text
            elif text != "\n":
                self.dropped += 1
        return found or None


def one_line(text: str) -> str:
    """Text that is no markup for YouTube: it knows <br> alone, and shows look-alikes as they are."""
    return text.replace("<", "\u2039").replace(">", "\u203a")


def utc(seconds: float) -> str:
    """A Unix time as YouTube writes it: without a zone, with milliseconds."""
    return datetime.fromtimestamp(round(seconds, 3), UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")


def post_address(service: Service, url: str, seq: int, language: str) -> str:
    """The address of POST number `seq`; what the service has put into it stays."""
    added = {"seq": str(seq)}
    if service == "zoom":
        added["lang"] = ZOOM_LANGUAGES.get(language, f"{language}-{language.upper()}")
    parts = urlsplit(url)
    kept = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in added]
    return urlunsplit(parts._replace(query=urlencode([*kept, *added.items()])))


def number_address(url: str) -> str:
    """Where Zoom tells the number of the last POST that it took."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/seq"))
