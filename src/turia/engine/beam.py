"""A beam over the pieces that follow what is written: the best continuation, as a plan or as a draft."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from turia.engine.backend import DecodeRequest, DecoderState, EncoderState, Logits, Steps
from turia.engine.choosing import NO_NUMBERS, Choose, best_continuations
from turia.engine.steering import ScoredRow
from turia.errors import ModelError
from turia.text.choice import Flags
from turia.text.symbols import STOPPING_IDS

PLANNED_PER_WORD = 4
"""Pieces; more than words have on average: how far the beam plans a sentence that finds no end."""


class Rules(Protocol):
    """What the beam asks of the writer that it searches for."""

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags: ...

    def word_ends(self, pieces: Sequence[int]) -> list[int]: ...

    def steer(self, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]: ...


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


@dataclass(frozen=True)
class Ending:
    """When a beam over a whole sentence ends."""

    as_generate: bool = False
    """By the rules of `generate` in the library transformers, in place of ours: ended hypotheses leave their places to
    others, and the search ends when the best one alive is no better than the worst of as many ended ones."""
    counted: int = 0
    """Pieces before the continuation that count for the mean of its log-probabilities."""
    length_penalty: float = 1.0
    """Log-probabilities are divided by the number of pieces to this power. 1 is the mean, so that short translations
    are not preferred; more prefers longer ones."""


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
    choose: Choose = best_continuations
    one_word: bool = False
    """The sentence is being spoken, and one word is wanted."""

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
            ended = max([*new, *([ended] if ended else [])], key=self._worth, default=None)
            if ends < width <= ends + len(new):
                # What goes on for as long again is a loop, however sure of itself.
                most = min(most, 2 * len(grown[0].pieces) + PLANNED_PER_WORD)
            ends += len(new)
            if not alive or (len(grown[0].pieces) >= most and self._has_word(alive[0])):
                break
            # That the first end looks best is not enough: ends are likely early, and translations came out short.
            if ended and ends >= width and self._worth(alive[0]) < self._worth(ended):
                break
            alive = yield from self._decode(alive)
        # What has no end is whole only if the search has found too few ends.
        whole = [] if ended and ends >= width else [hypothesis for hypothesis in alive if self._has_word(hypothesis)]
        found = [*whole, *([ended] if ended else [])]
        return max(self._with_likeliest_word(found) if self.one_word else found, key=self._worth)

    def _with_likeliest_word(self, found: list[Hypothesis]) -> list[Hypothesis]:
        """Those that begin with the word that most of their probability lies on.

        The likeliest hypothesis alone would prefer words that are cut into many pieces (*can't*): it has to say less of
        what follows, which is unsure.
        """
        words: dict[tuple[int, ...], list[Hypothesis]] = {}
        for hypothesis in found:
            end = next(iter(self.rules.word_ends(hypothesis.pieces)), len(hypothesis.pieces))
            words.setdefault(hypothesis.pieces[:end], []).append(hypothesis)
        return max(words.values(), key=lambda same: sum(math.exp(hypothesis.score) for hypothesis in same))

    def _best_as_generate(self, start: Hypothesis) -> Steps[Hypothesis]:
        """As in transformers, without early stopping."""
        width, alive = self.width, [start]
        ended: list[Hypothesis] = []
        while True:
            # Of twice as many, enough are left to go on with if others end.
            best = self._grown(alive, 2 * width)
            ended += [hypothesis for hypothesis in best[:width] if hypothesis.ended]
            ended = sorted(ended, key=lambda h: -self._worth(h))[:width]
            alive = [hypothesis for hypothesis in best if not hypothesis.ended][:width]
            if not alive or (len(ended) == width and self._worth(alive[0]) <= self._worth(ended[-1])):
                break
            if len(best[0].pieces) >= self.most and (ended or self._has_word(alive[0])):
                break
            alive = yield from self._decode(alive)
        return ended[0] if ended else alive[0]

    def _worth(self, hypothesis: Hypothesis) -> float:
        """What is compared of continuations of different lengths."""
        length = max(1, self.ending.counted + len(hypothesis.pieces))
        return float(hypothesis.score / length**self.ending.length_penalty)

    def _decode(self, alive: list[Hypothesis]) -> Steps[list[Hypothesis]]:
        """The hypotheses with scores of what follows them."""
        requests = [
            DecodeRequest(h.state, self.memory, np.array([h.pieces[-1]]), np.array([self.limit])) for h in alive
        ]
        results = yield requests
        rows = [
            ScoredRow(h.pieces, request, state, logits)
            for h, request, (state, logits) in zip(alive, requests, results, strict=True)
        ]
        steered = yield from self.rules.steer(rows)
        return [
            Hypothesis(h.pieces, h.scores, h.margins, state, logits)
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
        best = self.choose(logits, forbidden, [parent.score for parent in alive], count or self.width)
        if not len(best.places):
            raise ModelError(NO_NUMBERS)
        grown = []
        for place, score in zip(best.places.tolist(), best.scores.tolist(), strict=True):
            row, piece = divmod(place, len(logits[0]))
            parent = alive[row]
            grown.append(
                Hypothesis(
                    (*parent.pieces, piece),
                    (*parent.scores, score),
                    (*parent.margins, float(best.tops[row]) - score),
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
