"""Sentence ends that another segmenter has found, for streams that translate the same words by other models.

Words come in as they are spoken, and the lengths of finished sentences, in words, as soon as the other segmenter knows
them. A word comes out when `window` further words have been pushed, as from the other one, so that the end of its
sentence is known by then.

    segmenter.announce([17]); segmenter.push("und")     the 17th word comes out, and its sentence ends
    segmenter.announce([5])                               beyond what came out: the speaker stopped
    if segmenter.owes_end: segmenter.push_pause()
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from turia.segmenter.online import Decision, Reason, ReleasedWord, Segmenter, State, check_state, is_count


class AnnouncedSegmenter(Segmenter):
    """Ends sentences where it is told to."""

    reason = Reason.GIVEN

    def __init__(self, window: int = 0) -> None:
        super().__init__(window, Decision(), max_words=None)
        self._begin()

    def announce(self, lengths: Sequence[int]) -> None:
        """Words of the sentences that have ended since the last call."""
        for length in lengths:
            self._told += length
            self._ends.append(self._told)

    @property
    def owes_end(self) -> bool:
        """Whether a sentence was said to end where no word has come out yet, or just behind the last one."""
        return bool(self._ends)

    def look_ahead(self, window: int) -> None:
        """The other segmenter has another window from now on; it has given all its words out before."""
        if not self._pending:
            self.window = window

    def push(self, word: str) -> list[ReleasedWord]:
        late = []
        if self._ends and self._ends[0] <= self._out_words and self._open_words:
            late.append(self._out(None, self.reason))
        return late + super().push(word)

    def _close(self, reason: Reason) -> list[ReleasedWord]:
        released = super()._close(reason)
        # Where words are missing, as from a store that keeps the newest alone, sentences begin anew.
        self._ends.clear()
        self._told = self._out_words
        return released

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        return float(self._out_words + 1 in self._ends)

    def _remember(self, word: str | None, ended: bool) -> None:
        self._out_words += word is not None
        while self._ends and ended and self._ends[0] <= self._out_words:
            self._ends.popleft()

    def _begin(self) -> None:
        self._out_words = 0
        """Words that came out."""
        self._told = 0
        """Words up to the last end that was announced."""
        self._ends: deque[int] = deque()
        """Announced ends that have not come out, in words from the beginning."""

    def _own_state(self) -> State:
        return {"out": self._out_words, "told": self._told, "ends": list(self._ends)}

    def _restore_own(self, state: State) -> None:
        out, told, ends = state["out"], state["told"], state["ends"]
        check_state("out", out, is_count(out))
        check_state("told", told, is_count(told))
        check_state("ends", ends, isinstance(ends, list) and all(map(is_count, ends)))
        self._out_words, self._told, self._ends = out, told, deque(ends)
