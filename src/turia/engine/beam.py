"""A beam over the pieces that follow what is written: the best continuation, as a plan or as a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from turia.engine.backend import DecodeRequest, DecoderState, EncoderState, Logits, Steps
from turia.engine.terms import ScoredRow
from turia.text.choice import Flags
from turia.text.symbols import CLOSING_IDS, STOPPING_IDS

PLANNED_PER_WORD = 4
"""Pieces; more than words have on average: how far the beam plans a sentence that finds no end."""


Rows = npt.NDArray[np.float32]
"""[N, V]"""


class Rules(Protocol):
    """What the beam asks of the writer that it searches for."""

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags: ...

    def word_ends(self, pieces: Sequence[int]) -> list[int]: ...

    def steer(self, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]: ...


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


@dataclass(frozen=True)
class Hypothesis:
    """A continuation of what is written. A symbol that ends it, if there, is its last piece."""

    pieces: tuple[int, ...]
    scores: tuple[float, ...]
    """Log-probability of each piece."""
    margins: tuple[float, ...]
    """How much less likely each piece was than the likeliest in its place, as log-probability."""
    state: DecoderState
    logits: Logits | None

    @cached_property
    def score(self) -> float:
        """Log-probability of all pieces."""
        return sum(self.scores)

    @property
    def ended(self) -> bool:
        return bool(self.pieces) and self.pieces[-1] in STOPPING_IDS

    @property
    def per_piece(self) -> float:
        """Mean log-probability, so that short translations are not preferred."""
        return self.score / max(1, len(self.pieces))


@dataclass(frozen=True)
class Ending:
    """When a beam over a whole sentence ends."""

    as_generate: bool = False
    """By the rules of `generate` in the library transformers, in place of ours: ended hypotheses leave their places to
    others, and the search ends when the best one alive is no better than the worst of as many ended ones."""
    counted: int = 0
    """Pieces before the continuation that count for the mean of its log-probabilities."""


@dataclass(frozen=True)
class BeamSearch:
    """A beam of `width` hypotheses."""

    rules: Rules
    width: int
    memory: EncoderState
    limit: int
    most: int
    """Pieces to look ahead; further only until the best hypothesis has a whole word."""
    ending: Ending = Ending()
    may_end: bool = False
    """Even if the sentence is still being spoken, as a draft may."""

    def best(self, start: Hypothesis) -> Steps[Hypothesis]:
        """The best hypothesis, of whole words: at least one, or a closing symbol."""
        best = yield from (self._best_as_generate(start) if self.ending.as_generate else self._best(start))
        return self._whole_words(best)

    def _best(self, start: Hypothesis) -> Steps[Hypothesis]:
        alive, ended, ends, most = [start], None, 0, self.most
        width = self.width
        while True:
            grown = self._grown(alive)
            alive = [hypothesis for hypothesis in grown if not hypothesis.ended]
            new = [hypothesis for hypothesis in grown if hypothesis.ended]
            ended = max([*new, *([ended] if ended else [])], key=lambda h: h.per_piece, default=None)
            if ends < width <= ends + len(new):
                # What goes on for as long again is a loop, however sure of itself.
                most = min(most, 2 * len(grown[0].pieces) + PLANNED_PER_WORD)
            ends += len(new)
            if not alive or (len(grown[0].pieces) >= most and self._has_word(alive[0])):
                break
            # That the first end looks best is not enough: ends are likely early, and translations came out short.
            if ended and ends >= width and alive[0].per_piece < ended.per_piece:
                break
            alive = yield from self._decode(alive)
        # What has no end is whole only if the search has found too few ends.
        whole = [] if ended and ends >= width else [hypothesis for hypothesis in alive if self._has_word(hypothesis)]
        return max([*whole, *([ended] if ended else [])], key=lambda h: h.per_piece)

    def _best_as_generate(self, start: Hypothesis) -> Steps[Hypothesis]:
        """As in transformers, with a length penalty of 1 and without early stopping."""
        width, alive = self.width, [start]
        ended: list[Hypothesis] = []
        while True:
            # Of twice as many, enough are left to go on with if others end.
            best = self._grown(alive, 2 * width)
            ended += [hypothesis for hypothesis in best[:width] if hypothesis.ended]
            ended = sorted(ended, key=lambda h: -self._mean(h))[:width]
            alive = [hypothesis for hypothesis in best if not hypothesis.ended][:width]
            if not alive or (len(ended) == width and self._mean(alive[0]) <= self._mean(ended[-1])):
                break
            if len(best[0].pieces) >= self.most and (ended or self._has_word(alive[0])):
                break
            alive = yield from self._decode(alive)
        return ended[0] if ended else alive[0]

    def _mean(self, hypothesis: Hypothesis) -> float:
        return hypothesis.score / (self.ending.counted + len(hypothesis.pieces))

    def _decode(self, alive: list[Hypothesis]) -> Steps[list[Hypothesis]]:
        """The hypotheses with scores of what follows them."""
        requests = [
            DecodeRequest(h.state, self.memory, np.array([h.pieces[-1]]), np.array([self.limit])) for h in alive
        ]
        results = yield requests
        rows = [
            ScoredRow(h.pieces, request, logits)
            for h, request, (_, logits) in zip(alive, requests, results, strict=True)
        ]
        steered = yield from self.rules.steer(rows)
        return [
            replace(h, state=state, logits=logits)
            for h, (state, _), logits in zip(alive, results, steered, strict=True)
        ]

    def draft(self, start: Hypothesis, words: int) -> Steps[Hypothesis]:
        """The first hypothesis that is the best one when it has so many words, or an end: whole words, perhaps none."""
        alive = [start]
        while True:
            best, *_ = grown = self._grown(alive)
            if best.ended or self._words(best) >= words or len(best.pieces) >= self.most:
                return self._whole_words(best)
            alive = yield from self._decode([hypothesis for hypothesis in grown if not hypothesis.ended])

    def _grown(self, alive: list[Hypothesis], count: int | None = None) -> list[Hypothesis]:
        """The best of all continuations by one piece, best first: as many as the beam is wide, or `count`."""
        logits = [hypothesis.logits for hypothesis in alive if hypothesis.logits is not None]
        assert len(logits) == len(alive)
        forbidden = [self.rules.forbidden(self._word_begun(parent.pieces), self.may_end) for parent in alive]
        scores = _log_probabilities(logits, forbidden)
        totals = scores + np.array([parent.score for parent in alive], dtype=np.float32)[:, None]
        best = scores.max(axis=1)
        grown = []
        for place in largest(totals.ravel(), count or self.width).tolist():
            row, piece = divmod(place, scores.shape[1])
            score, parent = scores[row, piece], alive[row]
            if score > -np.inf:
                grown.append(
                    Hypothesis(
                        (*parent.pieces, piece),
                        (*parent.scores, float(score)),
                        (*parent.margins, float(best[row] - score)),
                        parent.state,
                        None,
                    )
                )
        return grown

    def _whole_words(self, best: Hypothesis) -> Hypothesis:
        """Without the word that is only begun: plans and drafts consist of whole words, and perhaps the end."""
        pieces = len(best.pieces) - (0 if best.ended else len(self._word_begun(best.pieces)))
        kept = slice(pieces)
        return replace(best, pieces=best.pieces[kept], scores=best.scores[kept], margins=best.margins[kept])

    def _word_begun(self, pieces: tuple[int, ...]) -> list[int]:
        return list(pieces[next(reversed(self.rules.word_ends(pieces)), 0) :])

    def _has_word(self, hypothesis: Hypothesis) -> bool:
        return hypothesis.ended or bool(self.rules.word_ends(hypothesis.pieces))

    def _words(self, hypothesis: Hypothesis) -> int:
        return len(self.rules.word_ends(hypothesis.pieces))
