"""The seam between the engine and the rules that say when a word is written.

A policy is a frozen value with a name and parameters. It makes one decision, in one of three ways:

- A `CountingPolicy` answers before anything is decoded: may the next target word be written now?
- A `LookingPolicy` answers after it: the engine drafts a continuation of what is committed, from all that has been
  read, and the policy keeps a prefix of the draft.
- A `LearnedPolicy` looks at the states of the model through small networks (heads) that the model folder has: may the
  next target word be written now?

The engine keeps what always holds, so no policy has to: nothing is taken back, no sentence ends before its source
does, a closed sentence is written to its end (catch-up), and a policy that looks or has learned falls at most
`max_lag` words behind.

To add a policy, write one file with one class and add one line to `table.py`. docs/policies.md walks through it.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError

Memory = dict[str, Any]
"""What a policy remembers within a sentence: plain JSON data, which is saved and restored with the stream."""
State = npt.NDArray[np.float32]
"""[D] what the last layer of the encoder or the decoder makes of one position."""
Logits = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class Head(Protocol):
    """A small network that was trained for one model."""

    def __call__(self, states: tuple[State, ...], /, *numbers: float) -> float:
        """A probability, from states and single numbers, in the order in which the head was trained with them."""
        ...


Heads = Mapping[str, Head]
"""By name."""
_SUMMABLE = 60.0
"""The exponentials of logits up to this can be added up as they are: so many float32 can hold of any vocabulary."""


@dataclass(frozen=True)
class Situation:
    """How far the translation of a sentence is. Counts are whole words of this sentence."""

    read: int
    """Source words that the translator has seen."""
    written: int
    """Target words that are committed."""
    gamma: float = 1.0
    """Target words per source word."""

    @property
    def lag(self) -> float:
        """Source words that have been read and not been translated yet, at gamma target words each."""
        return self.read - self.written / self.gamma


def row_sureness(logits: Logits, forbidden: Flags) -> float:
    """As `sureness`, of one row [V] and in a fraction of the time: it is asked for each word that is read."""
    best = int(logits.argmax())
    top = float(logits[best])
    chosen = float(logits[~forbidden].max()) if forbidden[best] else top
    if abs(top) < _SUMMABLE:
        return chosen - math.log(float(np.exp(logits).sum()))
    return chosen - top - math.log(float(np.exp(logits - top).sum()))


class TargetRow(NamedTuple):
    """The decoder row that would write the next word."""

    state: State
    logits: Logits
    """[V]"""
    forbidden: Flags
    """[V] pieces that cannot begin a word."""
    sure_of: Callable[[Logits, Flags], float] = row_sureness
    """That function, or the same in native code."""

    def sureness(self) -> float:
        """The log-probability of the likeliest piece that can begin the next word."""
        return self.sure_of(self.logits, self.forbidden)


def sureness(logits: Logits, forbidden: Flags) -> npt.NDArray[np.float32]:
    """[..., V] -> [...] the log-probability of the likeliest piece that is not forbidden [V]."""
    top = logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=-1))
    best = np.max(logits, axis=-1, where=~forbidden, initial=-np.inf)
    found: npt.NDArray[np.float32] = best - top[..., 0] - total
    return found


@dataclass(frozen=True)
class DraftWord:
    """A word that the engine would write next."""

    text: str
    pieces: tuple[int, ...]
    first_log_probability: float
    """Of its first piece."""
    log_probability: float
    """Of all of its pieces."""
    attention: npt.NDArray[np.float32] | None = None
    """[read] how much of its cross-attention is on each source word of the sentence, where the policy asked for it."""


@dataclass(frozen=True)
class Draft:
    """A continuation of what is committed, from what has been read."""

    words: tuple[DraftWord, ...]
    complete: bool
    """Whether the model would end the sentence after these words."""


class Policy(ABC):
    """What all policies have. Subclasses are frozen dataclasses, whose fields are the parameters."""

    name: ClassVar[str]
    movable: ClassVar[bool] = False
    """Whether `moved` gives sooner and surer policies of its kind."""

    def moved(self, steps: int) -> Self:
        """The policy that waits about so many source words longer (or shorter, if negative), as far as there is one."""
        return self

    def parameters(self) -> dict[str, Any]:
        """The parameters by name; those that are not set are left out."""
        found = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        """As people type it: `wait-k:k=4,rounding=floor`."""
        values = ",".join(f"{name}={value}" for name, value in self.parameters().items())
        return f"{self.name}:{values}" if values else self.name


class CountingPolicy(Policy):
    """Decides from counts alone."""

    @abstractmethod
    def may_write(self, at: Situation) -> bool:
        """Whether the next target word may be written while the sentence is still being spoken. Asked again after each
        word that was written, until it says no."""


class LookingPolicy(Policy):
    """Decides from a draft."""

    attention: ClassVar[bool] = False
    """Whether it looks at cross-attention, which not every model folder gives."""
    layer: int | None = None
    """The decoder layer whose attention it looks at; None takes the model's own choice."""
    stops: ClassVar[bool] = False
    """Whether it keeps the words before the first one that it does not like, without its memory and whatever follows.
    Then a draft need not go on behind that word."""

    def wants_draft(self, at: Situation) -> bool:
        """Whether a draft is worth making now. Each one costs model calls."""
        return True

    @abstractmethod
    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        """How many words of the draft are committed. `memory` is empty at the beginning of each sentence."""

    def overrule(self, written: Sequence[str], memory: Memory) -> None:
        """Other words were committed than were kept: a word stood there that had gone out before, or the policy fell
        `max_lag` words behind. `written` are all words of the sentence that are committed now."""


class LearnedPolicy(Policy):
    """Decides by heads, which look at the model's states."""

    @abstractmethod
    def head_names(self) -> tuple[str, ...]:
        """The heads that it needs with these parameters."""

    def wants_row(self, at: Situation, source: State, heads: Heads, memory: Memory) -> bool:
        """Asked once for each word that is read: whether the decoder row that would write is worth computing.

        `source` is the encoder state of the last word read. `memory` is empty at the beginning of each sentence.
        """
        return True

    @abstractmethod
    def may_write(self, at: Situation, source: State, target: TargetRow, heads: Heads, memory: Memory) -> bool:
        """Whether the next word may be written; asked again after each word, until it says no."""

    def overrule(self, memory: Memory) -> None:
        """A word is written that it did not allow, as it fell `max_lag` words behind."""
        return


def head_values(states: Sequence[State], *numbers: float) -> npt.NDArray[np.float32]:
    """What a head is shown: states, then single numbers, one after the other."""
    return np.concatenate((*states, numbers), dtype=np.float32)


def check_heads(policy: LearnedPolicy, known: Collection[str], model: str) -> None:
    """Refuses a policy whose heads the model does not have."""
    for name in policy.head_names():
        if name not in known:
            raise ModelError(
                f"{model}: policy {policy} needs the head {name}, the model has {', '.join(sorted(known)) or 'none'}; "
                "train it with `turia policy train`"
            )
