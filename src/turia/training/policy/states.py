"""States of a model, and what heads are to learn from them. The model folder itself computes them, in teacher-forced
passes, so that heads learn from the very numbers that they will see.

A pass shows each row what would have been read when its word was written, as training and streams do (policy/masks.py).
Sentences stand alone, as in a stream without history.

Letters: S source positions, R decoder rows, D width, V vocabulary, W samples, M lags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from turia.corpus.sentence_pairs import SentencePair
from turia.engine.backend import EncodeRequest, LookRequest
from turia.engine.model import Model
from turia.policy.base import head_values, sureness
from turia.policy.masks import cross_limit, encoder_reach, words_limit
from turia.policy.waitk import words_needed
from turia.text.layout import WHOLE, Ints, Rows, Sentence, Window, lay_out, target_rows
from turia.text.subwords import Subwords
from turia.text.symbols import BRK_ID
from turia.training.policy.chunks import ChunkEnd

Floats = npt.NDArray[np.float32]
T = TypeVar("T")
TOGETHER = 8
"""Sentences in one call of the model."""
MISSED, MOST_MISSED = 0.3, 2
"""Share of the chunks whose end a stream is taken to have missed, and how many of them in a row."""
LONGEST_BLOCK = 12
"""Words that are read before the first word of a sentence is written, at most, in what heads learn from."""


class Sample(NamedTuple):
    """A sentence pair, laid out."""

    window: Window
    target: Ints
    """[R + 1] inputs are [:-1], labels [1:]"""
    rows: Rows

    @property
    def words(self) -> int:
        """Of the source."""
        return int(self.window.words[0])

    def first_rows(self) -> Ints:
        """[target words] the row that predicts the first piece of each word."""
        words = self.rows.word
        begins = np.flatnonzero(np.diff(words, prepend=0))
        return np.asarray(begins[words[begins] < WHOLE])

    def last_position(self, word: int) -> int:
        """Of source word `word`, from 1. A closing symbol after it is not yet there when it is read."""
        return int(self.window.word_ends[word - 1]) - 1 - (word == self.words)


class PassLimits(NamedTuple):
    """What a pass shows."""

    reach: Ints
    limit: Ints


class Pass(NamedTuple):
    """What the model makes of a sample."""

    encoded: Floats
    """[S, D]"""
    decoded: Floats
    """[R, D]"""
    losses: Floats
    """[R] of the labels, in nats"""
    sureness: Floats
    """[R] log-probability of the likeliest piece that can begin a word"""


@dataclass(frozen=True)
class Labelled:
    """What a head that answers yes or no learns from."""

    states: Floats
    """[W, D + 1] and the lag"""
    labels: npt.NDArray[np.bool_]
    """[W]"""


@dataclass(frozen=True)
class Lagged:
    """What a halting head learns from: each target word under several lags."""

    states: npt.NDArray[np.float16]
    """[W, M, 2D + 2] of the encoder, then of the decoder; the lag; how sure the model is of the next piece"""
    losses: Floats
    """[W, M] of all pieces of the word, in nats"""
    read: Ints
    """[W, M] source words"""
    lags: Floats
    """[W, M] source words ahead of what is written"""


def lay_out_pair(pair: SentencePair, model: Model) -> Sample | None:
    """None if it does not fit into the model."""
    source, target = _sentence(pair.source, model.source_subwords), _sentence(pair.target, model.target_subwords)
    if max(len(source.ids), len(target.ids)) + 2 > model.max_positions:
        return None
    window = lay_out([source], False, BRK_ID, model.source_opening)
    return Sample(window, lay_out([target], False, BRK_ID).ids, target_rows([target]))


def _sentence(words: Sequence[str], subwords: Subwords) -> Sentence:
    pieces = [subwords.encode_word(word) for word in words]
    ids = np.array([piece for word in pieces for piece in word], dtype=np.int64)
    return Sentence(ids, np.array([len(word) for word in pieces], dtype=np.int64))


def source_states(
    model: Model, samples: Sequence[Sample], ends: Sequence[Sequence[ChunkEnd]], delay: int, rng: np.random.Generator
) -> Labelled:
    """Does a chunk end `delay` words before the last word read? From the encoder state of that word.

    Of a partial bidirectional encoder, each sentence gets a first block of its own, drawn at random; words inside the
    block have seen what follows them, so that learning begins with the last word of the block. The lag is that after
    one of the chunks before was written, as a stream may have missed the ends of some.
    """
    states, labels = [], []
    for group in _groups(list(zip(samples, ends, strict=True))):
        blocks = [int(rng.integers(1, min(sample.words, LONGEST_BLOCK) + 1)) for sample, _ in group]
        requests = [
            EncodeRequest(None, sample.window.ids, _reach(model, sample, block))
            for (sample, _), block in zip(group, blocks, strict=True)
        ]
        for (sample, chunks), block, state in zip(group, blocks, model.backend.encode(requests), strict=True):
            assert state.states is not None
            first = 1 if model.encoder == "unidirectional" else block
            stops = {end.source for end in chunks}
            for word in range(max(first, delay + 1), sample.words):
                over = [ChunkEnd(0, 0), *(end for end in chunks if end.source < word - delay)]
                written = over[-1 - int(rng.integers(min(len(over), MOST_MISSED + 1)))].target
                lag = word - written / model.gamma
                states.append(head_values((state.states[sample.last_position(word)],), lag))
                labels.append(word - delay in stops)
    return Labelled(np.array(states, dtype=np.float32), np.array(labels, dtype=bool))


def target_states(
    model: Model, samples: Sequence[Sample], ends: Sequence[Sequence[ChunkEnd]], delay: int, rng: np.random.Generator
) -> Labelled:
    """Is the translation of a chunk complete? From the decoder state of the row that would write the next word.

    Some chunks are joined with the next one, as in a stream that has missed their ends.
    """
    states, labels = [], []
    joined = [[end for end in chunks[:-1] if rng.random() >= MISSED] + [chunks[-1]] for chunks in ends]
    needed = [_chunk_needs(sample, chunks, delay) for sample, chunks in zip(samples, joined, strict=True)]
    limits = [_chunk_limits(model, *pair) for pair in zip(samples, needed, strict=True)]
    passes = run_passes(model, samples, limits)
    for sample, chunks, needs, found in zip(samples, joined, needed, passes, strict=True):
        stops = {end.target for end in chunks}
        for written, row in enumerate(sample.first_rows()[1:], start=1):
            lag = min(int(needs[row]), sample.words) - written / model.gamma
            states.append(head_values((found.decoded[row],), lag))
            labels.append(written in stops)
    return Labelled(np.array(states, dtype=np.float32), np.array(labels, dtype=bool))


def _chunk_needs(sample: Sample, chunks: Sequence[ChunkEnd], delay: int) -> Ints:
    """[R] source words that a row sees: those of its word's chunk and `delay` more. So does the row after a chunk: more
    is read only when it has said that the chunk is over."""
    target_ends, source_ends = np.array([end.target for end in chunks]), np.array([end.source for end in chunks])
    words = np.minimum(sample.rows.word, target_ends[-1])
    needed = source_ends[np.searchsorted(target_ends, words)] + delay
    later = sample.first_rows()[1:]
    needed[later] = needed[later - 1]
    needed[sample.rows.word == WHOLE] = WHOLE
    return np.asarray(needed)


def _chunk_limits(model: Model, sample: Sample, needed: Ints) -> PassLimits:
    limit = words_limit(sample.window, sample.rows.sentence, needed)
    return PassLimits(_reach(model, sample, int(min(needed[0], sample.words))), limit)


def lagged_states(
    model: Model, samples: Sequence[Sample], lags: Sequence[int], words: int, rng: np.random.Generator
) -> Lagged:
    """Up to `words` target words of each sentence, drawn at random, under each of `lags` and with all that was said."""
    drawn = []
    for sample in samples:
        count = len(sample.first_rows())
        drawn.append(np.sort(rng.permutation(count)[:words]))
    columns = [_under_lag(model, samples, drawn, lag) for lag in (*lags, WHOLE)]
    states, losses, read, ahead = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    return Lagged(states, losses, read, ahead)


def _under_lag(
    model: Model, samples: Sequence[Sample], drawn: Sequence[Ints], lag: int
) -> tuple[npt.NDArray[np.generic], ...]:
    states, losses, read, ahead = [], [], [], []
    limits = [_lag_limits(model, sample, lag) for sample in samples]
    for sample, words, found in zip(samples, drawn, run_passes(model, samples, limits), strict=True):
        firsts = sample.first_rows()
        ends = np.append(firsts[1:], len(sample.rows.word) - 1)
        for word in words.tolist():
            needed = sample.words if lag == WHOLE else words_needed(word + 1, lag, model.gamma)
            seen = min(needed, sample.words)
            ahead.append(seen - word / model.gamma)
            row, heard = firsts[word], found.encoded[sample.last_position(seen)]
            states.append(head_values((heard, found.decoded[row]), ahead[-1], found.sureness[row]))
            losses.append(found.losses[row : ends[word]].sum())
            read.append(seen)
    return (
        np.array(states, dtype=np.float16),
        np.array(losses, dtype=np.float32),
        np.array(read, dtype=np.int64),
        np.array(ahead, dtype=np.float32),
    )


def _lag_limits(model: Model, sample: Sample, lag: int) -> PassLimits:
    reach = _reach(model, sample, min(lag, sample.words))
    return PassLimits(reach, cross_limit(sample.window, sample.rows, lag, model.gamma, model.anchor))


def _reach(model: Model, sample: Sample, first_block: int) -> Ints:
    return encoder_reach(sample.window, first_block, model.encoder, model.anchor)


def run_passes(model: Model, samples: Sequence[Sample], limits: Sequence[PassLimits]) -> Iterator[Pass]:
    """What the model makes of each sample."""
    for group in _groups(list(zip(samples, limits, strict=True))):
        encode = [EncodeRequest(None, sample.window.ids, limit.reach) for sample, limit in group]
        memories = model.backend.encode(encode)
        requests = [
            LookRequest(None, memory, sample.target[:-1], limit.limit)
            for memory, (sample, limit) in zip(memories, group, strict=True)
        ]
        for memory, (sample, _), looks in zip(memories, group, model.backend.look(requests), strict=True):
            assert memory.states is not None
            assert looks.state.states is not None
            sure = sureness(looks.logits, model.forbidden.word_start)
            yield Pass(memory.states, looks.state.states, _losses(looks.logits, sample.target[1:]), sure)


def _losses(logits: Floats, labels: Ints) -> Floats:
    top = logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    losses: Floats = total - logits[np.arange(len(labels)), labels]
    return losses


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), TOGETHER):
        yield items[begin : begin + TOGETHER]
