"""What each row of a training batch may see: one k for the batch (multi-k, METHOD section 4), or a path for each
sentence whose lag walks up and down at random, as it does under an adaptive policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from turia.config import Anchor, Encoder
from turia.corpus.batches import Batch, pad
from turia.policy.masks import (
    cross_limit,
    encoder_reach,
    flowing_reach,
    flowing_reads,
    needed_words,
    separators,
    with_separators_numbered,
    words_limit,
)
from turia.text.layout import WHOLE, Ints, Rows, Window


@dataclass(frozen=True)
class MaskSettings:
    """What the masks of a run are made with."""

    encoder: Encoder
    anchor: Anchor
    gamma: float
    source_opening: bool = True
    """Whether windows of the source begin with a symbol."""
    free: bool = False
    """Whether the model learns to work without a segmenter; its dev loss is then of windows without separators."""


def longest_source(batch: Batch, anchor: Anchor) -> int:
    """The largest k that makes a difference: words of the longest sentence, or pieces of the longest window."""
    return batch.longest_sentence if anchor == "sentence" else batch.source.shape[1] - 1


def sample_k(rng: np.random.Generator, k_range: tuple[int, int]) -> int:
    """Uniform in the range, both ends included."""
    low, high = k_range
    return int(rng.integers(low, high + 1))


_STEP = 2.0
"""Standard deviation, in words, of the change of a lag from one target word to the next."""


def random_path(rng: np.random.Generator, rows: Rows, lags: tuple[int, int], gamma: float) -> tuple[Ints, Ints]:
    """A monotone path through each sentence of a window: [N] words read before its first target word, and [R] words
    read before each row's.

    The lag begins anywhere in `lags`, both ends included, and stays there while it walks; what was read once stays
    read.
    """
    low, high = lags
    caught_up = needed_words(rows.word, 1, gamma) - 1
    needed = np.full(len(rows.word), WHOLE)
    first_words = []
    begin = 0
    for end in np.flatnonzero(rows.word == WHOLE).tolist():  # the row of each sentence's closing symbol
        word = rows.word[begin:end] - 1
        moves = np.rint(rng.normal(0.0, _STEP, int(word[-1]) + 1)).astype(np.int64)
        moves[0] = rng.integers(low, high + 1)
        lag = np.clip(np.cumsum(moves), low, high)[word]
        needed[begin:end] = np.maximum.accumulate(lag + caught_up[begin:end])
        first_words.append(needed[begin])
        begin = end + 1
    return np.array(first_words), needed


def batch_limits(batch: Batch, k: int, policy: MaskSettings) -> tuple[Tensor, Tensor]:
    """reach [B, S] and limit [B, T]. Padding rows see one column, so that no softmax is empty."""
    reach, limit = [], []
    for window, rows in zip(batch.windows, batch.rows, strict=True):
        if window.flowing:
            needed = needed_words(with_separators_numbered(rows).word, k, policy.gamma)
            sees, read = _flowing_limits(window, rows, needed, policy)
        else:
            sees = encoder_reach(window, k, policy.encoder, policy.anchor)
            read = cross_limit(window, rows, k, policy.gamma, policy.anchor)
        reach.append(sees)
        limit.append(read)
    return torch.from_numpy(pad(reach, value=1)), torch.from_numpy(pad(limit, value=1))


def random_limits(
    rng: np.random.Generator, batch: Batch, lags: tuple[int, int], policy: MaskSettings
) -> tuple[Tensor, Tensor]:
    """The same for a random path in each sentence. A sentence's first block is what its first word was written from."""
    assert policy.anchor == "sentence"
    reach, limit = [], []
    for window, rows in zip(batch.windows, batch.rows, strict=True):
        first, needed = random_path(rng, rows, lags, policy.gamma)
        if window.flowing:
            parts = separators(rows)
            needed[parts] = needed[parts - 1] + 1
            sees, read = _flowing_limits(window, rows, needed, policy)
        else:
            sees = encoder_reach(window, first, policy.encoder, policy.anchor)
            read = words_limit(window, rows.sentence, needed)
        reach.append(sees)
        limit.append(read)
    return torch.from_numpy(pad(reach, value=1)), torch.from_numpy(pad(limit, value=1))


def _flowing_limits(window: Window, rows: Rows, needed: Ints, policy: MaskSettings) -> tuple[Ints, Ints]:
    """Of a window without separators: [S] and [R]."""
    assert policy.anchor == "sentence"
    before, first, read = flowing_reads(window, rows, needed)
    return flowing_reach(window, before, first, policy.encoder), words_limit(window, rows.sentence, read)
