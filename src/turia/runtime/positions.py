"""The numbers that tell a Transformer the order of pieces. Training and the exported graphs take them from here."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

ROTARY_BASE = 1_000
"""Of the slowest rotation of rotary positions; the usual 10,000 is for texts longer than our windows."""


def sinusoids(positions: int, width: int, marian: bool = False, first: int = 0) -> Floats:
    """[positions, width] sinusoidal position embeddings, sines first, then cosines (as fairseq lays them out).

    The slowest rate is 1 / 10,000; Marian's sines and cosines stop just before it. `first` is the place of the first
    position.
    """
    half = width // 2
    rates = np.exp(np.arange(half) * (-math.log(10_000) / (half if marian else half - 1)))
    angles = np.arange(first, first + positions)[:, None] * rates[None]
    table: Floats = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return table


def rotations(positions: int, size: int) -> tuple[Floats, Floats]:
    """Cosines and sines of rotary positions (Su et al. 2021), each [positions, size / 2], for heads of `size` numbers.

    Column i is the angle by which dimension i and dimension i + size / 2 turn together.
    """
    rates = ROTARY_BASE ** (-np.arange(0, size, 2) / size)
    angles = np.arange(positions)[:, None] * rates[None]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
