"""When source words were spoken, and what follows from it for the records of a stream.

Times are seconds since the beginning of the speech, as the recogniser counts them. Some recognisers count from another
beginning, most of them from 1970. If the first word is later than a day, we take this word for the beginning, and a
note in the trace keeps the recogniser's time. Times of a recogniser may go back a little, or be negative. Ours never
do: a time is at least that of the word before, and at least 0. If the words of a stream have no times, its trace has
none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from turia.stream.trace import Note, Record, SentenceEnd, Write

DAY = 86_400.0


@dataclass(frozen=True)
class SpokenWord:
    """A source word, when it was spoken, and by whom, where that is known."""

    text: str
    start: float | None = None
    end: float | None = None
    speaker: str | None = None


@dataclass(frozen=True)
class UnstableTail:
    """What a recogniser hears after its final words, and may still revise. It replaces the tail before it."""

    text: str


@dataclass(frozen=True)
class Silent:
    """Nobody has spoken for a while."""


Heard = SpokenWord | UnstableTail | Silent
"""What comes from a speaker, in order."""


class SpokenTimes:
    """Adds the times of the source words to the records that they lead to."""

    def __init__(self) -> None:
        self.before_beginning = 0
        """Words whose times were negative, and are taken for 0."""
        self._origin: float | None = None
        """What the recogniser's clock showed when ours began; None before the first time."""
        self._told_origin = False
        self._sentence = 0
        self._latest: float | None = None
        self._open: deque[float | None] = deque()
        """Ends of the words that are in no closed sentence yet."""

    def push(self, word: SpokenWord) -> None:
        """The next source word, before the stream gets it."""
        if word.end is not None:
            end = self._on_our_clock(word, word.end)
            self._latest = end if self._latest is None else max(self._latest, end)
        # White space inside parts words, as in the stream.
        self._open += [None if word.end is None else self._latest] * len(word.text.split())

    def stamp(self, records: Iterable[Record]) -> list[Record]:
        """The records that followed the last word, with its time."""
        stamped = [self._stamped(record) for record in records]
        if self._origin and not self._told_origin:
            self._told_origin = True
            stamped.insert(0, Note("clock", self._sentence, f"0 is {self._origin} of the recogniser's clock"))
        return stamped

    def _on_our_clock(self, word: SpokenWord, end: float) -> float:
        if self._origin is None:
            first = end if word.start is None else word.start
            self._origin = first if first > DAY else 0.0
        # No recogniser is more precise than a millisecond, and the difference of two large numbers has noise below it.
        since = round(end - self._origin, 3) if self._origin else end
        self.before_beginning += since < 0
        return max(0.0, since)

    def _stamped(self, record: Record) -> Record:
        if isinstance(record, Write):
            return replace(record, read_seconds=self._latest)
        if isinstance(record, SentenceEnd):
            self._sentence = record.sentence + 1
            own = [self._open.popleft() for _ in range(record.source_words)]
            known = tuple(end for end in own if end is not None)
            return replace(record, ends=known) if len(known) == len(own) else record
        return record


def sentence_times(ends: Sequence[int], source_lengths: Iterable[int]) -> list[int]:
    """How long each sentence takes: from the last word of the one before (or from 0) to its own last word.

    So a pause counts to the sentence that follows it, and the sentences lie end to end, as their words do.
    """
    lengths, read, start = [], 0, 0
    for words in source_lengths:
        read += words
        lengths.append(ends[read - 1] - start)
        start = ends[read - 1]
    return lengths
