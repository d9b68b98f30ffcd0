"""What `turia translate` prints: text, JSON lines, or subtitles. Each is given records with their times."""

from __future__ import annotations

from typing import Literal, TextIO

from turia.formats.subtitles import Cue, CueMaker, Format, format_cue, header
from turia.stream.trace import End, Record, SentenceEnd, Write, header_line, record_line

OutputFormat = Literal["text", "jsonl", "srt", "vtt"]


class TextOutput:
    """Words as they come, a sentence a line."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self._begun = False

    def write(self, record: Record) -> None:
        if isinstance(record, Write):
            self.word(record.word)
        elif isinstance(record, SentenceEnd | End):
            self.end_sentence()

    def word(self, word: str, ms: float = 0.0) -> None:
        """A word; a text does not show when it came."""
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
        self.file.write(header(kind))

    def write(self, record: Record) -> None:
        if isinstance(record, Write):
            self.word(record.word, _shown_at(record))
        elif isinstance(record, SentenceEnd | End):
            self.end_sentence()

    def word(self, word: str, ms: float) -> None:
        """A word that came at `ms`."""
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
