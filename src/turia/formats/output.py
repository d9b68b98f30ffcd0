"""What `turia translate` prints: text, JSON lines, or subtitles. Each is given records with their times."""

from __future__ import annotations

from typing import Literal, TextIO

from turia.formats.subtitles import Cue, CueMaker, Format, format_cue, header
from turia.stream.speakers import named_speaker
from turia.stream.trace import End, Record, SentenceEnd, Write, header_line, record_line
from turia.text.harmless import harmless

OutputFormat = Literal["text", "jsonl", "srt", "vtt"]


class TextOutput:
    """Words as they come, a sentence a line."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self._begun = False
        self._speaker: str | None = None
        """Whose name is to be written before the next word."""

    def write(self, record: Record) -> None:
        if isinstance(record, Write):
            self.word(record.word)
        elif isinstance(record, SentenceEnd | End):
            self.end_sentence()
        elif (name := named_speaker(record)) is not None:
            self.speaker(name)

    def speaker(self, name: str) -> None:
        """Who speaks from here on: the next line begins with the name."""
        self.end_sentence()
        self._speaker = harmless(name)

    def word(self, word: str, ms: float = 0.0) -> None:
        """A word; a text does not show when it came."""
        word = harmless(word)
        if self._speaker is not None:
            self.file.write(f"{self._speaker}: ")
            self._speaker = None
        self.file.write(f" {word}" if self._begun else word)
        self._begun = True

    def end_sentence(self) -> None:
        if self._begun:
            self.file.write("\n")
        self._begun = False


class JsonOutput:
    """The trace itself."""

    def __init__(self, file: TextIO, settings: dict[str, object]) -> None:
        self.file = file
        self.file.write(header_line(settings) + "\n")

    def write(self, record: Record) -> None:
        self.file.write(record_line(record) + "\n")


class SubtitleOutput:
    """Cues, each when it is complete."""

    def __init__(self, file: TextIO, kind: Format) -> None:
        self.file, self.kind = file, kind
        self._cues = CueMaker()
        self._number = 0
        self._named = True
        """Whether it was said who speaks."""
        self.file.write(header(kind))

    def write(self, record: Record) -> None:
        if isinstance(record, Write):
            self.word(record.word, _shown_at(record))
        elif isinstance(record, SentenceEnd | End):
            self.end_sentence()
        elif (name := named_speaker(record)) is not None:
            self.speaker(name)

    def speaker(self, name: str) -> None:
        """Who speaks from here on. WebVTT has voices; in SRT the first cue begins with the name."""
        self.end_sentence()
        self._cues.speaker = harmless(name)
        self._named = self.kind == "vtt"

    def word(self, word: str, ms: float) -> None:
        """A word that came at `ms`."""
        word = harmless(word)
        if not self._named and self._cues.speaker is not None:
            self._named = True
            for part in f"{self._cues.speaker}:".split():
                self._put(self._cues.push(part, ms))
        self._put(self._cues.push(word, ms))

    def end_sentence(self) -> None:
        self._put(self._cues.end_sentence())

    def _put(self, cues: list[Cue]) -> None:
        for cue in cues:
            self._number += 1
            self.file.write(format_cue(cue, self._number, self.kind))


def _shown_at(write: Write) -> float:
    """Milliseconds of the speech, if it had times; else of the clock, from when the stream began."""
    return (write.ms or 0.0) if write.read_seconds is None else 1000 * write.read_seconds


Output = TextOutput | JsonOutput | SubtitleOutput


def output(kind: OutputFormat, file: TextIO, settings: dict[str, object]) -> Output:
    """The writer of a format."""
    return JsonOutput(file, settings) if kind == "jsonl" else caption_output(kind, file)


def caption_output(kind: Literal["text", "srt", "vtt"], file: TextIO) -> TextOutput | SubtitleOutput:
    """The writer of a format that people read: words, and ends of sentences, of whatever language."""
    return TextOutput(file) if kind == "text" else SubtitleOutput(file, kind)
