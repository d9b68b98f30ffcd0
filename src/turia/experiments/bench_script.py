"""What a bench lets a model read and say: words without meaning, sentences of a known length.

How long a model's sentences are would decide its figures, and the words of random weights are noise: loops, which the
engine's guards cut. So the model computes every step in full, and then a script overrules its choice: as many words as
the source sentence asks for, three in ten of them of two pieces, none repeated in a loop. Calls are timed on the way.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.engine.backend import DecodeRequest, DecoderState, EncodeRequest, EncoderState, Logits, LookRequest, Looks
from turia.engine.model import Model
from turia.text.subwords import Subwords
from turia.text.symbols import BRK_ID, CONT_ID, DOC_ID, SEP_ID, WORD_END

SENTENCE_WORDS = (10, 30)
"""Shortest and longest sentence; 20 words on average."""
TWO_PIECES = 0.3
"""Share of words, source and target, that have two pieces."""
ENCODER, DECODER = ("window", "encoder step"), ("prefill", "decoder step")
"""Kinds of calls: the first begins a window (or a sentence's target history), the second goes on with it."""

clock = time.process_time
"""One thread: on a free core this is the time on the clock, and other jobs do not count."""


@dataclass(frozen=True)
class _Followed:
    """A state of the model, and how far its sentence is."""

    inner: Any
    words: int = 0
    """Complete words of the current sentence; where the space comes first nothing shows that, and words begun count."""
    begun: bool = False
    """Whether its last piece began a word, and did not end it."""
    before: _Followed | None = None
    """The state without its last row, where that row came alone."""

    states = None

    @property
    def length(self) -> int:
        return int(self.inner.length)

    def truncated(self, length: int) -> _Followed:
        """The state without its last row, which the greedy search asks for where the space comes first."""
        assert self.before is not None, "a script cannot be looked at"
        assert length == self.before.length
        return replace(self.before, inner=self.inner.truncated(length))


@dataclass(frozen=True)
class Call:
    """One call of the model."""

    kind: str
    rows: int
    requests: int
    seconds: float


class ScriptedBackend:
    """Runs a backend, times its calls, and overrules its choices (see the top of this file)."""

    can_look = False
    """A script has no attention."""
    gives_states = False

    def __init__(self, model: Model) -> None:
        self._model = model
        target = model.target_subwords
        lone_space = np.array([piece == WORD_END for piece in target.pieces])
        usable = ~(target.is_control | target.is_byte | lone_space)
        first = target.starts_word if target.space_first else ~target.ends_word
        self._first_pieces: list[int] = np.flatnonzero(usable & first).tolist()
        self._last_pieces: list[int] = np.flatnonzero(usable & ~first).tolist()
        self._random = random.Random(1)
        self.calls: list[Call] = []

    def encode(self, requests: Sequence[EncodeRequest]) -> Sequence[EncoderState]:
        plain = [replace(request, state=_inner(request.state)) for request in requests]
        began = clock()
        states = self._model.backend.encode(plain)
        self._note(ENCODER[requests[0].state is not None], requests, began)
        subwords = self._model.source_subwords
        return [
            _follow(request.state, request.ids, subwords, state)
            for request, state in zip(requests, states, strict=True)
        ]

    def decode(self, requests: Sequence[DecodeRequest]) -> Sequence[tuple[DecoderState, Logits]]:
        plain = [replace(request, state=_inner(request.state), memory=_inner(request.memory)) for request in requests]
        began = clock()
        results = self._model.backend.decode(plain)
        self._note(DECODER[requests[0].state is not None], requests, began)
        subwords = self._model.target_subwords
        followed = [
            _follow(request.state, request.ids, subwords, state)
            for request, (state, _) in zip(requests, results, strict=True)
        ]
        return [(state, self._choice(state, request.memory)) for request, state in zip(requests, followed, strict=True)]

    def look(self, requests: Sequence[LookRequest]) -> Sequence[Looks]:
        """Nobody may ask."""
        raise AssertionError("a script cannot be looked at")

    def _note(self, kind: str, requests: Sequence[EncodeRequest] | Sequence[DecodeRequest], began: float) -> None:
        seconds = clock() - began
        self.calls.append(Call(kind, sum(len(request.ids) for request in requests), len(requests), seconds))

    def _choice(self, target: _Followed, source: Any) -> Logits:
        """Scores that leave one choice. The engine itself forbids an end that comes too early."""
        scores = np.zeros(len(self._model.target_subwords), dtype=np.float32)
        if self._model.target_subwords.space_first:
            between = not (target.begun and _has_two(target.words - 1))
            first = between
        else:
            between = not target.begun
            first = between and _has_two(target.words)
        scores[self._random.choice(self._first_pieces if first else self._last_pieces)] = 1.0
        if between and target.words >= self._model.gamma * source.words:
            scores[BRK_ID] = 2.0
        return scores


def _has_two(word: int) -> bool:
    """Whether this word of a sentence has two pieces: by position, so that streams of the same words do the same."""
    return word % 10 in (3, 6, 9)


def _inner(state: Any) -> Any:
    return None if state is None else state.inner


def _follow(past: Any, ids: npt.NDArray[np.int64], subwords: Subwords, state: Any) -> _Followed:
    """`state`, and how far its sentence is after the pieces `ids`."""
    words, begun = (0, False) if past is None else (past.words, past.begun)
    for piece in ids.tolist():
        if piece in (DOC_ID, CONT_ID, SEP_ID):
            words, begun = 0, False
        elif subwords.space_first:
            begun = bool(subwords.starts_word[piece])
            words += begun
        else:
            begun = not subwords.ends_word[piece]
            words += not begun
    before = replace(past, before=None) if past is not None and len(ids) == 1 else None
    return _Followed(state, words, begun, before)


@dataclass(frozen=True)
class Speech:
    """Source words without meaning, and the lengths of their sentences."""

    words: list[str]
    lengths: list[int]


def speech(subwords: Subwords, words: int, seed: int = 1) -> Speech:
    """At least `words` words in whole sentences. Words are pieces of the vocabulary, earlier ones more often."""
    chance = random.Random(seed)
    texts = [
        (piece.strip(WORD_END), bool(whole))
        for piece, whole, odd in zip(
            subwords.pieces,
            subwords.starts_word if subwords.space_first else subwords.ends_word,
            subwords.is_control | subwords.is_byte,
            strict=True,
        )
        if not odd
    ]
    plain = [(text, whole) for text, whole in texts if text.isalpha() and text == text.lower()]
    whole_words = [text for text, whole in plain if whole]
    parts = [text for text, whole in plain if not whole]
    lengths: list[int] = []
    while sum(lengths) < words:
        lengths.append(chance.randint(*SENTENCE_WORDS))
    said = chance.choices(whole_words, [1 / rank for rank in range(1, len(whole_words) + 1)], k=sum(lengths))
    said = [_of_two(word, parts, subwords, chance) if chance.random() < TWO_PIECES else word for word in said]
    return Speech(said, lengths)


def _of_two(word: str, parts: Sequence[str], subwords: Subwords, chance: random.Random) -> str:
    """`word` with another piece, such that the two are not taken for one piece or for three."""
    for _ in range(50):
        part = chance.choice(parts)
        joined = word + part if subwords.space_first else part + word
        if len(subwords.encode_word(joined)) == 2:
            return joined
    return word
