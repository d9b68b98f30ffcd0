"""The lines of a translation as an operator has left them: corrected, hidden, and put in.

A correction comes behind the words that it is about, so the lines are known only when all events are. The words of a
corrected line have the times of the words that they stand for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from turia.protocol.corrections import Correction, Insertion
from turia.stream.trace import Note, SentenceEnd

PUT_IN = "put in"


@dataclass(frozen=True)
class ShownWord:
    """A word of a file: of the translation, or of what was said."""

    word: str
    ms: float
    sentence: int = 0
    """Of the translation."""


Shown = ShownWord | SentenceEnd | Note


def corrected(items: Iterable[Shown | Correction | Insertion]) -> Iterator[Shown]:
    """The words of a translation, the ends of its lines and who speaks, as the operator has left them."""
    shown: list[Shown] = []
    corrections: dict[int, Correction] = {}
    insertions: dict[int, Insertion] = {}
    for item in items:
        if isinstance(item, Correction):
            corrections[item.sentence] = item
        elif isinstance(item, Insertion):
            insertions[item.number] = item
        else:
            shown.append(item)
    if not corrections and not insertions:
        yield from shown
        return
    yield from _CorrectedLines(corrections, insertions).of(shown)


class _CorrectedLines:
    def __init__(self, corrections: dict[int, Correction], insertions: dict[int, Insertion]) -> None:
        self._corrections = corrections
        given = [insertions[number] for number in sorted(insertions) if insertions[number].text]
        # In the order in which they are due: operators' programs may put in thousands.
        self._waiting = deque(sorted(given, key=lambda insertion: insertion.before))
        self._ms = 0.0

    def of(self, shown: Iterable[Shown]) -> Iterator[Shown]:
        line: list[ShownWord] = []
        for item in shown:
            if isinstance(item, ShownWord):
                line.append(item)
                continue
            if isinstance(item, Note):
                # Who speaks is said before the words. What was put in is nobody's.
                yield from self._put_in(item.sentence, self._ms)
                yield item
                continue
            yield from self._sentence(item.sentence, line)
            yield item
            line = []
        if line:
            yield from self._sentence(line[0].sentence, line)
            if self._waiting:
                # It goes on; what was put in is a line of its own all the same.
                yield SentenceEnd(line[0].sentence, 0, len(line), PUT_IN)
        yield from self._put_in(None, self._ms)

    def _sentence(self, sentence: int, line: list[ShownWord]) -> Iterator[Shown]:
        yield from self._put_in(sentence, line[0].ms if line else self._ms)
        self._ms = line[-1].ms if line else self._ms
        correction = self._corrections.get(sentence)
        if correction is None:
            yield from line
            return
        count = min(correction.words, len(line))
        times = [word.ms for word in line[:count]] or [word.ms for word in line[:1]] or [self._ms]
        yield from _spread(correction.text, times, sentence)
        yield from line[count:]

    def _put_in(self, sentence: int | None, ms: float) -> Iterator[Shown]:
        """What was put in before this sentence, or before any that has not come."""
        while self._waiting and (sentence is None or self._waiting[0].before <= sentence):
            one = self._waiting.popleft()
            words = _spread(one.text, [ms], one.before)
            yield from words
            yield SentenceEnd(one.before, 0, len(words), PUT_IN)


def _spread(text: str, times: list[float], sentence: int) -> list[ShownWord]:
    """The words of a text at the times of the words that they stand for."""
    words = text.split()
    return [ShownWord(word, times[place * len(times) // len(words)], sentence) for place, word in enumerate(words)]
