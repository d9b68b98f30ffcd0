"""When source words were spoken, and what follows from it for the records of a stream.

Times are seconds of the speech, counted from wherever the recogniser counts. A recogniser's times may go back a
little; ours never do, as delays never do. A stream whose words come without times has none in its trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from turia.stream.trace import Record, SentenceEnd, Write


@dataclass(frozen=True)
class SpokenWord:
    """A source word, and when it was spoken, where that is known."""

    text: str
    start: float | None = None
    end: float | None = None


class SpokenTimes:
    """Adds the times of the source words to the records that they lead to."""

    def __init__(self) -> None:
        self._latest: float | None = None
        self._open: deque[float | None] = deque()
        """Ends of the words that are in no closed sentence yet."""

    def push(self, word: SpokenWord) -> None:
        """The next source word, before the stream gets it."""
        if word.end is not None:
            self._latest = word.end if self._latest is None else max(self._latest, word.end)
        # White space inside parts words, as in the stream.
        self._open += [None if word.end is None else self._latest] * len(word.text.split())

    def stamp(self, records: Iterable[Record]) -> list[Record]:
        """The records that followed the last word, with its time."""
        return [self._stamped(record) for record in records]

    def _stamped(self, record: Record) -> Record:
        if isinstance(record, Write):
            return replace(record, read_seconds=self._latest)
        if isinstance(record, SentenceEnd):
            own = [self._open.popleft() for _ in range(record.source_words)]
            known = tuple(end for end in own if end is not None)
            return replace(record, ends=known) if len(known) == len(own) else record
        return record


def sentence_seconds(ends: list[float], source_lengths: Iterable[int]) -> list[float]:
    """Seconds of each sentence: from the last word of the one before (or from 0) to its own last word.

    So a pause counts to the sentence that follows it, and the sentences lie end to end, as their words do.
    """
    lengths, read, start = [], 0, 0.0
    for words in source_lengths:
        read += words
        lengths.append(ends[read - 1] - start)
        start = ends[read - 1]
    return lengths
