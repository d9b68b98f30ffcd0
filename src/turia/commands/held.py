"""Holds the events of a session back for some seconds, so that a relay posts them with an operator's corrections.

What was posted cannot be taken back, so a correction reaches only what is still held. The corrected words get the
times of the words that they replace. If the first words of a line have been posted, the rest of the line is corrected.
Pure: the times are those of the events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from turia.stream.speakers import SPEAKER

Event = dict[str, Any]


class HeldEvents:
    """Events in; events out `hold_ms` later, to `pass_on`. Lines that were put in come as events of their own."""

    def __init__(self, hold_ms: float, pass_on: Callable[[Event], None]) -> None:
        self.hold_ms = hold_ms
        self.late = 0
        """Changes that came when what they were about, or some of it, had been passed on."""
        self._pass_on = pass_on
        self._waiting: deque[Event] = deque()
        self._corrections: dict[int, Event] = {}
        self._insertions: dict[int, Event] = {}
        """Lines that were put in and not yet passed on."""
        self._shown: set[int] = set()
        """Numbers of those that were passed on."""
        self._sentence = -1
        """The newest one of which something was passed on."""
        self._open = False
        """Whether more of it may follow."""
        self._read = 0
        """Its words that were passed on, or left out, by a correction."""
        self._written: list[str] = []
        """What was passed on in their place."""
        self._now = 0.0

    def take(self, event: Event) -> None:
        kind, ms = event.get("type"), float(event.get("ms") or self._now)
        self._now = max(self._now, ms)
        if kind == "correction":
            self._correct(event)
        elif kind == "insertion":
            self._insert(event)
        else:
            self._waiting.append({**event, "ms": ms})
        self.release(float("inf") if kind == "end" else ms)

    def release(self, ms: float) -> None:
        """Passes on what has been held for long enough when the session's clock shows this time."""
        due = ms - self.hold_ms
        while self._waiting and (self._waiting[0]["ms"] <= due or ms == float("inf")):
            self._pass(self._waiting.popleft())
        if not self._open and not self._waiting:
            # Nothing is said: lines that were put in need not wait for the next sentence.
            self._put_in(lambda event: event["ms"] <= due)

    # --- changes --------------------------------------------------------------------------------------------------

    def _correct(self, event: Event) -> None:
        sentence = event["sentence"]
        self.late += sentence < self._sentence or (sentence == self._sentence and self._read > 0)
        self._corrections[sentence] = event

    def _insert(self, event: Event) -> None:
        if event["number"] in self._shown:
            self.late += 1
            return
        self._insertions.pop(event["number"], None)
        if event["text"]:
            self._insertions[event["number"]] = event

    def _put_in(self, due: Callable[[Event], bool], ms: float | None = None) -> None:
        """`ms` is the time of what follows; without it, a line has the time at which it was put in."""
        chosen = sorted(filter(due, self._insertions.values()), key=lambda event: (event["before"], event["number"]))
        for event in chosen:
            del self._insertions[event["number"]]
            self._shown.add(event["number"])
            self._pass_on(event if ms is None else {**event, "ms": ms})

    # --- what is passed on ----------------------------------------------------------------------------------------

    def _pass(self, event: Event) -> None:
        kind = event.get("type")
        if kind == "write" or kind == "sentence" or (kind == "note" and event.get("kind") == SPEAKER):
            self._reach(event["sentence"], event["ms"])
        if kind == "write":
            self._open = True
            self._pass_word(event)
            return
        if kind == "end":
            self._put_in(lambda _: True, event["ms"])
        self._pass_on(event)
        if kind == "sentence":
            self._corrections.pop(event["sentence"], None)
            self._open = False

    def _reach(self, sentence: int, ms: float) -> None:
        if sentence <= self._sentence:
            return
        self._put_in(lambda event: event["before"] <= sentence, ms)
        self._sentence, self._read, self._written = sentence, 0, []

    def _pass_word(self, event: Event) -> None:
        correction = self._corrections.get(self._sentence)
        covered: list[str] = []
        if correction is not None:
            # The words that are still held, this one first; all that a correction is about came before it.
            covered = [str(event["word"]), *self._coming()][: max(0, correction["words"] - self._read)]
        words = [str(event["word"])]
        if correction is not None and covered:
            rest = self._rest(str(correction["text"]).split(), covered)
            # As many as fall to this one; those behind it have the others.
            words = rest[: -(-len(rest) // len(covered))]
        self._read += 1
        self._written += words
        for word in words:
            self._pass_on({**event, "word": word})

    def _coming(self) -> Iterator[str]:
        """The words of the line that wait behind the one that is passed on."""
        for event in self._waiting:
            if event.get("type") == "sentence":
                return
            if event.get("type") == "write":
                yield str(event["word"])

    def _rest(self, new: list[str], covered: list[str]) -> list[str]:
        """What of a corrected text is still to be written in place of the words that it covers."""
        done = len(self._written)
        if self._written == new[:done]:
            return new[done:]
        return new[_place([*self._written, *covered], new, done) :]


def _place(old: Sequence[str], new: Sequence[str], place: int) -> int:
    """The place in the changed text that corresponds to a place in the original one."""
    for _, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if place <= end and end > begin:
            return new_begin + round((place - begin) * (new_end - new_begin) / (end - begin))
    return len(new)
