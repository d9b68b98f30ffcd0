"""Segmenters: words go in one by one, and come out when it is known whether a sentence ends at them.

Rules of this file: no torch, no clock, no files; constant work per word; a word that came out is never
taken back.

**Lag.** A segmenter of window w gives a word out when w further words have been pushed, or when the stream
or the speaker stops. Words are counted as given: one that normalises to nothing (a lone dash) is pushed,
waits and comes out like any other, so that delays are d = min(|X|, w + A[n] + ...) in words of the stream
(METHOD section 5).

**Limit.** No sentence grows beyond `max_words`. A word that came out cannot become a sentence end later, so
the best place cannot be looked up when the limit is reached: it has to be recognised as it passes. With m
words left before the limit, a word ends the sentence if its probability reaches `Decision.at(m)`, which
falls to 0 at the limit itself.

**Closing late.** At a pause, or at the end of the stream, the last word may have come out already (always
so with w = 0). Then a `ReleasedWord` without a word says that the sentence ended at the last word given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any, Literal

from turia.errors import InputError

Cut = Literal["attention", "reverse"]
"""By the attention of the words that were written, or by a model of the opposite direction."""
MAX_WORDS = 60
GIVEN_VERSION = 2
"""Raised when given sentences are ended in another way, and so may get other translations."""
State = dict[str, Any]
"""Plain JSON data."""


class Reason(StrEnum):
    """Why a sentence ended."""

    SEGMENTER = "segmenter"
    PUNCTUATION = "punctuation"
    GIVEN = "given"
    FORCED = "forced"
    FREE = "free"
    """The translation model wrote a separator; nobody else was asked."""
    PAUSE = "pause"
    END = "end"


@dataclass(frozen=True)
class ReleasedWord:
    """A word that the translator may now read; `word` is None where only the sentence is closed."""

    word: str | None
    reason: Reason | None = None
    """Set where a sentence ends."""

    @property
    def ends_sentence(self) -> bool:
        return self.reason is not None


@dataclass(frozen=True)
class Decision:
    """How probable a sentence end must be. `falling[m]` is what suffices with m words left before the limit."""

    threshold: float = 0.5
    falling: tuple[float, ...] = (0.0,)

    def argmax(self) -> Decision:
        """The likelier class (the paper's way); near the limit as before."""
        return Decision(0.5, self.falling)

    def at(self, words_left: int) -> float:
        """The probability that ends the sentence when `words_left` more words would fit into it."""
        return min(self.threshold, self.falling[words_left]) if words_left < len(self.falling) else self.threshold


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0; true and false are none, though Python takes them for 1 and 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_words(value: Any) -> bool:
    """Whether it is a list of words."""
    return isinstance(value, list) and all(isinstance(word, str) and word.split() == [word] for word in value)


def check_state(key: str, value: Any, fits: bool) -> None:
    """Refuses a damaged state."""
    if not fits:
        raise InputError(f"segmenter state is damaged: {key} is {value!r:.80}")


class Segmenter(ABC):
    """What all segmenters do alike. A subclass says how probable a sentence end is."""

    reason: Reason
    """Why this kind of segmenter ends a sentence of its own accord."""

    def __init__(self, window: int, decision: Decision, max_words: int | None = MAX_WORDS) -> None:
        if not is_count(window):
            raise InputError(f"a segmenter looks at 0 or more future words, not {window!r}")
        if max_words is not None and (not is_count(max_words) or max_words < 1):
            raise InputError(f"a sentence has at least 1 word; max_words is {max_words!r}")
        assert decision.falling[0] == 0.0
        self.window = window
        self.max_words = max_words
        self._decision = decision
        self._pending: deque[str] = deque()
        self._open_words = 0

    def push(self, word: str) -> list[ReleasedWord]:
        """The next word of the stream in; the words that thereby become visible out (one or none)."""
        self._pending.append(word)
        return [self._give(self._pending.popleft(), stopped=False)] if len(self._pending) > self.window else []

    @property
    def pending(self) -> tuple[str, ...]:
        """Words that were pushed and have not come out."""
        return tuple(self._pending)

    def expect(self, words: int) -> None:  # noqa: B027  (most take any number)
        """Refuses so many further words if they are too many, before the first of them is pushed."""

    def push_pause(self) -> list[ReleasedWord]:
        """The speaker stopped: all words out, the sentence ends at the newest one."""
        return self._close(Reason.PAUSE)

    def flush(self) -> list[ReleasedWord]:
        """The stream is over: all words out, the sentence ends at the last one. Afterwards a new stream may begin."""
        visible = self._close(Reason.END)
        self._begin()
        return visible

    def state(self) -> State:
        """All that `restore` needs to go on from here."""
        common = {"kind": str(self.reason), "window": self.window, "max_words": self.max_words}
        return common | {"pending": list(self._pending), "open_words": self._open_words} | self._own_state()

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken from a segmenter made with the same settings."""
        for key, expected in (("kind", str(self.reason)), ("window", self.window)):
            if state.get(key) != expected:
                raise InputError(f"segmenter state has {key} {state.get(key)!r}, but this segmenter's is {expected!r}")
        try:
            pending, open_words = state["pending"], state["open_words"]
            check_state("pending", pending, is_words(pending) and len(pending) <= self.window)
            fits = is_count(open_words) and (self.max_words is None or open_words < self.max_words)
            check_state("open_words", open_words, fits)
            self._restore_own(state)
        except KeyError as error:
            raise InputError(f"segmenter state without the key {error}") from error
        self._pending, self._open_words = deque(pending), open_words

    @abstractmethod
    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        """The probability that a sentence ends at `word`. Fewer than w words follow only if the speaker `stopped`."""

    @abstractmethod
    def _remember(self, word: str | None, ended: bool) -> None:
        """`word` has come out; None where the sentence was closed late."""

    @abstractmethod
    def _begin(self) -> None:
        """A new stream."""

    @abstractmethod
    def _own_state(self) -> State: ...

    @abstractmethod
    def _restore_own(self, state: State) -> None: ...

    def _give(self, word: str, stopped: bool) -> ReleasedWord:
        """Gives the word out, and closes its sentence if an end is probable enough."""
        probability = self._probability(word, tuple(self._pending), stopped)
        left = None if self.max_words is None else self.max_words - self._open_words - 1
        needed = self._decision.threshold if left is None else self._decision.at(left)
        if probability < needed:
            return self._out(word, None)
        return self._out(word, self.reason if probability >= self._decision.threshold else Reason.FORCED)

    def _close(self, reason: Reason) -> list[ReleasedWord]:
        visible = []
        while len(self._pending) > 1:
            visible.append(self._give(self._pending.popleft(), stopped=True))
        if self._pending:
            visible.append(self._out(self._pending.popleft(), reason))
        elif self._open_words:
            visible.append(self._out(None, reason))
        return visible

    def _out(self, word: str | None, reason: Reason | None) -> ReleasedWord:
        self._open_words = 0 if reason else self._open_words + 1
        self._remember(word, ended=reason is not None)
        return ReleasedWord(word, reason)


class BlockSegmenter(Segmenter):
    """Knows no sentences: cuts the stream after every so many words, wherever that is."""

    reason = Reason.FORCED

    def __init__(self, words: int) -> None:
        super().__init__(0, Decision(), max_words=words)

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        return 0.0

    def _remember(self, word: str | None, ended: bool) -> None: ...

    def _begin(self) -> None: ...

    def _own_state(self) -> State:
        return {}

    def _restore_own(self, state: State) -> None: ...


class FreeSegmenter(Segmenter):
    """Ends no sentence but at a pause: the translation model finds the ends by itself (docs/decisions/036)."""

    reason = Reason.FREE

    def __init__(self, cut: Cut = "attention") -> None:
        super().__init__(0, Decision(), max_words=None)
        self.cut = cut
        """How the source is cut where the model writes a separator."""

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        return 0.0

    def _remember(self, word: str | None, ended: bool) -> None: ...

    def _begin(self) -> None: ...

    def _own_state(self) -> State:
        return {"cut": self.cut}

    def _restore_own(self, state: State) -> None:
        check_state("cut", state["cut"], state["cut"] == self.cut)


class GivenSegmenter(Segmenter):
    """Sentence lengths known beforehand, in words as given: the oracle of the paper's experiments."""

    reason = Reason.GIVEN

    def __init__(self, lengths: Sequence[int], window: int = 0) -> None:
        if any(length < 1 for length in lengths):
            raise InputError("given sentences have at least 1 word each")
        super().__init__(window, Decision(), max_words=None)
        self._words = sum(lengths)
        self._ends = frozenset(accumulate(lengths))
        self._given_out = 0

    def expect(self, words: int) -> None:
        if self._given_out + len(self._pending) + words > self._words:
            raise InputError(f"the stream has more words than the {self._words} of the given sentences")

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        if self._given_out == self._words:
            raise InputError(f"the stream has more words than the {self._words} of the given sentences")
        return float(self._given_out + 1 in self._ends)

    def _out(self, word: str | None, reason: Reason | None) -> ReleasedWord:
        # With the last of the given sentences the stream is over, and is translated so: no flush comes before that.
        is_last = word is not None and self._given_out + 1 == self._words
        return super()._out(word, Reason.END if is_last and reason is not None else reason)

    def _remember(self, word: str | None, ended: bool) -> None:
        self._given_out += word is not None

    def _begin(self) -> None:
        self._given_out = 0

    def _own_state(self) -> State:
        return {"given_out": self._given_out}

    def _restore_own(self, state: State) -> None:
        given_out = state["given_out"]
        check_state("given_out", given_out, is_count(given_out) and given_out <= self._words)
        self._given_out = given_out
