"""When a speaker has stopped: from the clock, and from the times of the words. The caller passes the time.

A pause closes the sentence, so that its last words do not wait for the next one to begin. Whoever drives a stream asks
here, and tells the stream (`push_pause`): the engine itself has no clock.
"""

from __future__ import annotations

from collections import deque

from turia.stream.times import SpokenWord

PAUSE = 1.5
"""Seconds."""
LONGEST_INTERVAL = 5.0
"""Between two arrivals of a feed; what is longer is a silence of the speaker."""
_ARRIVALS = 5


class Silence:
    """How long to wait for more before the speaker is taken to have stopped. With a pause of 0 that never happens.

    A recogniser that shows partial hypotheses shows that somebody speaks. One that does not is silent between its
    lines, however long they take: then the longest of the last intervals is added to the pause.
    """

    def __init__(self, pause: float = PAUSE) -> None:
        self.pause = pause
        self._since: float | None = None
        """When something was said last; None if nothing was since the last pause."""
        self._arrived: float | None = None
        self._waited = True
        self._intervals: deque[float] = deque(maxlen=_ARRIVALS)
        self._has_partials = False

    def will_wait(self) -> None:
        """Notes that all that came has been taken: what comes next is another arrival."""
        self._waited = True

    def said(self, now: float, partial: bool = False) -> None:
        """Notes that something was said: words, or a new partial hypothesis."""
        if self._waited:
            if self._arrived is not None and now - self._arrived <= LONGEST_INTERVAL:
                self._intervals.append(now - self._arrived)
            self._arrived, self._waited = now, False
        self._since = now
        self._has_partials = self._has_partials or partial

    def paused(self) -> None:
        """Notes that the stream has been told of the pause."""
        self._since = None

    def left(self, now: float) -> float | None:
        """Seconds until the speaker has stopped, 0 if that is so; None where there is nothing to wait for."""
        if self._since is None or not self.pause:
            return None
        usual = 0.0 if self._has_partials else max(self._intervals, default=0.0)
        return max(0.0, self._since + self.pause + usual - now)


class TimeGaps:
    """Whether a word follows a pause, by its time. A gap of hours is one pause; times that go back are none."""

    def __init__(self, pause: float = PAUSE) -> None:
        self.pause = pause
        self._end: float | None = None

    def before(self, word: SpokenWord) -> bool:
        """Whether there is a pause between the words so far and this one, which is the next."""
        start = word.start if word.start is not None else word.end
        # Of a word that has no start, only the time since the end of the one before is known, its own included.
        spoken = 0.0 if word.start is not None else 1.0
        is_pause = bool(
            self.pause
            and self._end is not None
            and start is not None
            and round(start - self._end, 3) >= self.pause + spoken
        )
        if word.end is not None:
            self._end = word.end
        return is_pause
