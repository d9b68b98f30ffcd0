"""The best continuations of several hypotheses, by the scores that the model gives their next pieces.

Letters: N rows, one for each hypothesis; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from turia.engine.backend import Logits
from turia.text.choice import Flags
from turia.text.symbols import CLOSING_IDS

Rows = npt.NDArray[np.float32]
"""[N, V]"""
NO_NUMBERS = "the scores of the model are no numbers: its weights are damaged"


class Best(NamedTuple):
    """Continuations, the best first."""

    places: npt.NDArray[np.int64]
    """Row · V + piece."""
    scores: npt.NDArray[np.float32]
    """Log-probability of each of these pieces."""
    tops: npt.NDArray[np.float32]
    """[N] the largest log-probability of each row."""


class Choose(Protocol):
    """Finds them: the one below, or that of native code (runtime/native.py)."""

    def __call__(
        self, logits: Sequence[Logits], forbidden: Sequence[Flags], before: Sequence[float], count: int, /
    ) -> Best:
        """The `count` best, or fewer if no more are allowed, of N rows with their `logits` [V] and `forbidden` [V]
        pieces. `before` is the score of what each row continues."""
        ...


def best_continuations(
    logits: Sequence[Logits], forbidden: Sequence[Flags], before: Sequence[float], count: int
) -> Best:
    """As `Choose` says, in numpy."""
    scores = _log_probabilities(logits, forbidden)
    totals = scores + np.array(before, dtype=np.float32)[:, None]
    places = largest(totals.ravel(), count)
    found = scores.ravel()[places]
    allowed = found > -np.inf
    return Best(places[allowed], found[allowed], scores.max(axis=1))


def best_allowed(logits: Logits, forbidden: Flags) -> int:
    """The best piece that is not forbidden; of equal ones the first."""
    best = int(logits.argmax())
    # Mostly it is allowed, and then there is no need to look at all of them again.
    return int(np.where(forbidden, -np.inf, logits).argmax()) if forbidden[best] else best


def log_probabilities(logits: Logits, forbidden: Flags) -> Logits:
    """[V] of the pieces that are allowed; the closing symbols are one, by whichever name."""
    scores: Logits = _log_probabilities([logits], [forbidden])[0]
    return scores


def _log_probabilities(logits: Sequence[Logits], forbidden: Sequence[Flags]) -> Rows:
    """[N, V] of N rows, each with its own pieces that are allowed."""
    scores = np.stack(logits)
    for row, flags in zip(scores, forbidden, strict=True):
        np.copyto(row, -np.inf, where=flags)
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    end, *names = CLOSING_IDS
    for row, flags in zip(scores, forbidden, strict=True):
        if not flags[list(CLOSING_IDS)].all():
            row[end] = np.logaddexp.reduce(row[list(CLOSING_IDS)])
            row[names] = -np.inf
    return scores


_HEAPS = 256


def largest(values: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
    """Where the `count` largest of `values` [N] are, the largest first; of equal ones the earlier first.

    Each value is put on one of 256 heaps. The heaps with the largest tops have all that is looked for, so that only
    they are put in order: to look for the largest tops takes a twentieth of what a partition of all values takes.
    """
    whole = len(values) - len(values) % _HEAPS
    if whole <= _HEAPS or count >= _HEAPS:
        candidates = np.arange(len(values))
    else:
        tops = values[:whole].reshape(-1, _HEAPS).max(axis=0)
        heaps = np.argsort(-tops, kind="stable")[:count]
        members = (heaps + np.arange(0, whole, _HEAPS)[:, None]).ravel()
        candidates = np.concatenate([np.sort(members), np.arange(whole, len(values))])
    return candidates[np.argsort(-values[candidates], kind="stable")[:count]]
