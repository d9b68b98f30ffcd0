"""From prepared shards to padded batches, in an order that a few counters reproduce.

Samples are drawn pool by pool: within a pool windows and single sentences are mixed in the recipe's ratio, sorted by
length, cut into batches by tokens, and the batches shuffled. A pool depends on the seed and its own counters alone, so
a run can be resumed from them, and the processes of a distributed run agree without exchanging anything.

Letters: B samples, S source positions, T target rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from turia.corpus.shards import CLOSES, OPENS, WINDOW, Shards
from turia.text.layout import Ints, Rows, Window, closing_symbol, lay_out, target_rows
from turia.text.symbols import PAD_ID

POOL_SAMPLES = 16_384
_LENGTH_NOISE = 0.02
"""Lengths are changed at random by up to so much before samples are sorted by them, so that a batch has not always the
same samples. Each percent of noise costs about a percent of padding."""


@dataclass(frozen=True)
class Batch:
    """Padded ids, and the layouts that masks are computed from once k is known."""

    source: Ints
    """[B, S]"""
    target: Ints
    """[B, T + 1]; inputs are [:, :-1], labels [:, 1:]"""
    windows: list[Window]
    rows: list[Rows]

    @property
    def target_tokens(self) -> int:
        """Labels, padding not counted."""
        return sum(len(rows.word) for rows in self.rows)

    @property
    def last_sentence(self) -> Ints:
        """[B, T] 1 for a label of the last sentence of a sample that has several, else 0."""
        return pad([(rows.sentence == rows.sentence[-1]) & (rows.sentence > 0) for rows in self.rows], 0)

    @property
    def longest_sentence(self) -> int:
        """Words of the longest source sentence."""
        return max(int(window.words.max()) for window in self.windows)


@dataclass(frozen=True)
class PoolStart:
    """Where a pool begins: all that is needed to draw it again."""

    pool: int = 0
    windows_drawn: int = 0
    sentences_drawn: int = 0


class Sampler:
    """Draws the samples of a training run."""

    def __init__(self, shards: Shards, sentences_per_window: float, seed: int) -> None:
        flags = shards.samples[:, 2]
        self.windows = np.flatnonzero(flags & WINDOW)
        self.sentences = np.flatnonzero((flags & WINDOW) == 0)
        source, target = side_lengths(shards)
        self.lengths = np.maximum(source, target)
        self.labels = target - 1
        """[M] labels of each sample: all of its target but the opening symbol."""
        self.last_labels = last_lengths(shards)
        """[M] those of its last sentence, as in `Batch.last_sentence`."""
        self.pieces_ratio = float(target[self.sentences].sum() / max(1, source[self.sentences].sum()))
        """Target positions to source positions of single sentences, each corpus as often as it is drawn."""
        self.sentences_per_window, self.seed = sentences_per_window, seed

    def pool(
        self, start: PoolStart, with_windows: bool, batch_tokens: int
    ) -> tuple[list[npt.NDArray[np.int64]], PoolStart]:
        """The batches of one pool as sample indices, and where the next pool begins."""
        window_count = 0
        if with_windows and len(self.windows):
            window_count = round(POOL_SAMPLES / (1 + self.sentences_per_window))
        sentence_count = POOL_SAMPLES - window_count
        drawn = np.concatenate(
            [
                self._draw(self.windows, start.windows_drawn, window_count, stream=1),
                self._draw(self.sentences, start.sentences_drawn, sentence_count, stream=2),
            ]
        )
        rng = np.random.default_rng([self.seed, 3, start.pool])
        batches = cut_batches(drawn, self.lengths, batch_tokens, rng)
        rng.shuffle(batches)
        following = PoolStart(
            start.pool + 1, start.windows_drawn + window_count, start.sentences_drawn + sentence_count
        )
        return batches, following

    def epochs(self, start: PoolStart) -> float:
        """How often every sentence has been drawn as a single sentence."""
        return start.sentences_drawn / max(1, len(self.sentences))

    def _draw(self, samples: Ints, drawn: int, count: int, stream: int) -> Ints:
        """`count` samples after the first `drawn`, from an endless run of permutations."""
        parts: list[Ints] = []
        while count > 0:
            cycle, offset = divmod(drawn, len(samples))
            order = np.random.default_rng([self.seed, stream, cycle]).permutation(len(samples))
            part = samples[order[offset : offset + count]]
            parts.append(part)
            drawn, count = drawn + len(part), count - len(part)
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def side_lengths(shards: Shards) -> tuple[Ints, Ints]:
    """[M] pieces and symbols of each sample, source and target."""
    first, count = shards.samples[:, 0].astype(np.int64), shards.samples[:, 1].astype(np.int64)

    def side(lengths: npt.NDArray[np.integer]) -> Ints:
        before = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return np.asarray(before[first + count] - before[first] + count + 1)

    return side(shards.source_lengths), side(shards.target_lengths)


def last_lengths(shards: Shards) -> Ints:
    """[M] target pieces of the last sentence of each sample and its closing symbol; 0 where it is the only sentence."""
    last, count = shards.samples[:, :2].sum(axis=1, dtype=np.int64) - 1, shards.samples[:, 1]
    return np.where(count > 1, shards.target_lengths[last] + 1, 0)


def cut_batches(
    samples: Ints, lengths: Ints, batch_tokens: int, rng: np.random.Generator | None = None
) -> list[npt.NDArray[np.int64]]:
    """Batches of like lengths, padded size within `batch_tokens`; a longer sample is a batch of its own.

    Without `rng` the same lengths always go together.
    """
    noise = 1.0 if rng is None else rng.uniform(1 - _LENGTH_NOISE, 1 + _LENGTH_NOISE, len(samples))
    ordered = samples[np.argsort(lengths[samples] * noise, kind="stable")]
    batches, begin, longest = [], 0, 0
    for end, length in enumerate(lengths[ordered]):
        if max(longest, length) * (end + 1 - begin) > batch_tokens and end > begin:
            batches.append(ordered[begin:end])
            begin, longest = end, 0
        longest = max(longest, length)
    return [*batches, ordered[begin:]] if begin < len(ordered) else batches


def samples_in_order(shards: Shards, windows: bool, batch_tokens: int, most: int = 0) -> list[npt.NDArray[np.int64]]:
    """All windows, or all single sentences, as batches of sample indices in the order of length: for validation.

    `most` > 0 takes so many batches, evenly spaced: the first ones would be the shortest samples alone.
    """
    flags = shards.samples[:, 2]
    samples = np.flatnonzero(((flags & WINDOW) > 0) == windows)
    lengths = np.maximum(*side_lengths(shards))
    batches = cut_batches(samples, lengths, batch_tokens)
    taken: Sequence[int] = range(len(batches))
    if 0 < most < len(batches):
        taken = [int((i + 0.5) * len(batches) / most) for i in range(most)]
    return [batches[i] for i in taken]


def assemble(shards: Shards, samples: npt.NDArray[np.int64], source_opening: bool = True) -> Batch:
    """The batch of the given samples; `source_opening` if sources begin with a symbol."""
    return assemble_sentences(shards, shards.samples[samples], source_opening)


def assemble_sentences(shards: Shards, chosen: npt.NDArray[np.integer], source_opening: bool = True) -> Batch:
    """The same of sentences that need not be a sample: [B, 3] first sentence, number of sentences, flags."""
    sources: list[Window] = []
    targets: list[Window] = []
    rows: list[Rows] = []
    for first, count, flags in chosen.tolist():
        pairs = [shards.sentence(index) for index in range(first, first + count)]
        opens, closing = bool(flags & OPENS), closing_symbol(bool(flags & CLOSES))
        target = [pair[1] for pair in pairs]
        sources.append(lay_out([pair[0] for pair in pairs], opens, closing, source_opening))
        targets.append(lay_out(target, opens, closing))
        rows.append(target_rows(target))
    return Batch(pad([w.ids for w in sources]), pad([w.ids for w in targets]), sources, rows)


def pad(vectors: Sequence[npt.NDArray[np.integer | np.bool_]], value: int = PAD_ID) -> Ints:
    """[B, longest] with `value` to the right."""
    padded = np.full((len(vectors), max(map(len, vectors))), value, dtype=np.int64)
    for row, vector in zip(padded, vectors, strict=True):
        row[: len(vector)] = vector
    return padded
