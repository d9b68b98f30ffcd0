"""Multi-k training: one k for each batch, and the limits that follow from it (METHOD section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from turia.config import Anchor, Encoder
from turia.corpus.batches import Batch, pad
from turia.model.masks import cross_limit, encoder_reach


@dataclass(frozen=True)
class Policy:
    """What the masks of a run are made with."""

    encoder: Encoder
    anchor: Anchor
    gamma: float
    source_opening: bool = True
    """Whether windows of the source begin with a symbol."""


def longest_source(batch: Batch, anchor: Anchor) -> int:
    """The largest k that makes a difference: words of the longest sentence, or pieces of the longest window."""
    return batch.longest_sentence if anchor == "sentence" else batch.source.shape[1] - 1


def sample_k(rng: np.random.Generator, longest: int, k_range: tuple[int, int] | None) -> int:
    """Uniform in [1, longest source of the batch], or in the recipe's range; both ends included."""
    low, high = k_range or (1, longest)
    return int(rng.integers(low, high + 1))


def batch_limits(batch: Batch, k: int, policy: Policy) -> tuple[Tensor, Tensor]:
    """reach [B, S] and limit [B, T]. Padding rows see one column, so that no softmax is empty."""
    reach = [encoder_reach(window, k, policy.encoder, policy.anchor) for window in batch.windows]
    limit = [
        cross_limit(window, rows, k, policy.gamma, policy.anchor)
        for window, rows in zip(batch.windows, batch.rows, strict=True)
    ]
    return torch.from_numpy(pad(reach, value=1)), torch.from_numpy(pad(limit, value=1))
