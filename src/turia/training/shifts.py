"""Single sentences begin where they would behind a history (Kiyono et al. 2021, SHAPE: shifted absolute positions).

Positions are absolute: what is learned at the first ones is not known at those behind a history, and most sentences
of the mix are single ones, which stand at the first. Moved to random places, they teach all places alike. Windows of
more than one sentence stay where they are, as in inference.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from turia.corpus.batches import Batch

_SPREAD = (0.82, 1.22)
"""Around the corpus's target pieces to source pieces, as histories of real windows have it (nine in ten of them): the
two sides begin about as far apart as they would behind one."""


def draw_shifts(rng: np.random.Generator, batch: Batch, most: int, positions: int, ratio: float) -> Tensor:
    """[B, 2] positions by which source and target begin later: 0 to `most` for samples of one sentence, 0 for others.

    `ratio` is target pieces to source pieces of the corpus. No row passes `positions`, the size of the table.
    """
    single = np.array([len(window.words) == 1 for window in batch.windows])
    source = rng.integers(0, most + 1, len(single)) * single
    target = np.rint(source * ratio * rng.uniform(*_SPREAD, len(single)))
    room = [positions - batch.source.shape[1], positions - batch.target.shape[1]]
    return torch.from_numpy(np.minimum(np.stack([source, target], axis=1), room).astype(np.int64))
