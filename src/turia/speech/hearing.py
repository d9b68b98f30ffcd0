"""A recogniser over a sound: words, unstable tails and silences come out, on the clock of the sound.

What is wrong with the sound can be asked for at the end (`complaints`), or again and again while it goes on
(`new_complaints`), where each answer is about the sound since the one before.
"""

from __future__ import annotations

from collections.abc import Iterator

from turia.speech.check import Complaint, SoundCheck
from turia.speech.recogniser import Recognised, Recogniser, Samples
from turia.stream.silence import PAUSE, Silence
from turia.stream.times import Heard, Silent, UnstableTail

LOOK_SECONDS = 10.0
"""Of sound, between two looks at what is wrong with it."""


class Hearing:
    """Sound in, what was heard out."""

    def __init__(self, recogniser: Recogniser, pause: float = PAUSE, partials: bool = True) -> None:
        """`pause` is the silence, in seconds of the sound, that closes a sentence; 0 for none."""
        self.recogniser = recogniser
        self.check = SoundCheck()
        self._partials = partials
        self._silence = Silence(pause)
        self._tail = ""
        self._recent = SoundCheck()
        self._sure = 0.0
        """Sum of the certainties of all words before the recent ones."""

    def push(self, samples: Samples) -> Iterator[Heard]:
        """Takes more sound; gives what is heard with it."""
        self.check.push(samples)
        self._recent.push(samples)
        yield from self._items(self.recogniser.push(samples))
        if self._silence.left(self.check.seconds) == 0:
            self._silence.paused()
            yield Silent()

    def flush(self) -> Iterator[Heard]:
        """Gives what is left when the sound is over."""
        yield from self._items(self.recogniser.flush())

    def _items(self, recognised: Recognised) -> Iterator[Heard]:
        self.check.words += len(recognised.final)
        self._recent.words += len(recognised.final)
        yield from recognised.final
        tail = " ".join(word.text for word in recognised.partial)
        if recognised.final or tail:
            self._silence.will_wait()
            self._silence.said(self.check.seconds, partial=True)
        # A final word ends the tail before it, so that one is told again.
        if self._partials and (tail if recognised.final else tail != self._tail):
            yield UnstableTail(tail)
        self._tail = tail

    def complaints(self) -> list[Complaint]:
        """What is wrong with the whole sound."""
        return self.check.complaints(self.recogniser.certainty, self.recogniser.language)

    def new_complaints(self) -> list[Complaint]:
        """About the sound since the last time, if it is long enough. That nothing was said is none: speakers rest."""
        if self._recent.seconds < LOOK_SECONDS:
            return []
        recent, mean = self._recent, self.recogniser.certainty
        all_sure = self.check.words * (mean or 0.0)
        certainty = (all_sure - self._sure) / recent.words if recent.words and mean is not None else None
        self._recent, self._sure = SoundCheck(), all_sure
        found = recent.complaints(certainty, self.recogniser.language)
        return [complaint for complaint in found if complaint.code != "no-words"]
