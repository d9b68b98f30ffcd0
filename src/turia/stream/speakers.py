"""Who speaks. Another speaker's first word closes the sentence of the one before, and a note says who it is.

    {"type":"note","kind":"speaker","sentence":3,"detail":"Anna"}

The note holds from its sentence on, on both sides. It is a note and not a record of its own, so that every reader of
traces and of events takes it, also one that shows no names.
"""

from __future__ import annotations

from turia.stream.times import SpokenWord
from turia.stream.trace import Note, Record

SPEAKER = "speaker"


class SpeakerChanges:
    """Whether a word is another speaker's. A word without a speaker is of the one who spoke before."""

    def __init__(self) -> None:
        self._speaker: str | None = None

    def before(self, word: SpokenWord) -> str | None:
        """The name of who speaks from this word on, which is the next; None if that is no other than before."""
        if word.speaker is None or word.speaker == self._speaker:
            return None
        self._speaker = word.speaker
        return word.speaker


def speaker_note(name: str, sentence: int) -> Note:
    """That this speaker has the word from a sentence on."""
    return Note(SPEAKER, sentence, name)


def named_speaker(record: Record) -> str | None:
    """Who speaks from here on, if the record says so."""
    return record.detail if isinstance(record, Note) and record.kind == SPEAKER else None
