"""Position tables, by value."""

from __future__ import annotations

import math

import numpy as np

from tests.runtime.models import tiny_shape
from turia.model.layers import position_table
from turia.runtime.positions import ROTARY_BASE, rotations, sinusoids


def test_sinusoids_are_sines_then_cosines_of_falling_rates() -> None:
    table = sinusoids(512, 6)
    for position in (0, 1, 511):
        angles = [position, position / 100, position / 10_000]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        np.testing.assert_allclose(table[position], expected, atol=1e-6)


def test_marian_s_rates_stop_before_the_slowest() -> None:
    angles = [7 / 10_000 ** (i / 3) for i in range(3)]
    expected = [*map(math.sin, angles), *map(math.cos, angles)]
    np.testing.assert_allclose(sinusoids(8, 6, marian=True)[7], expected, atol=1e-6)


def test_rotations_are_of_half_a_head() -> None:
    cosines, sines = rotations(300, 4)
    angles = np.array([299.0, 299 / ROTARY_BASE**0.5])
    np.testing.assert_allclose(cosines[299], np.cos(angles), atol=1e-6)
    np.testing.assert_allclose(sines[299], np.sin(angles), atol=1e-6)


def test_training_has_the_same_tables() -> None:
    """Of a rotation both halves, which are alike."""
    shape = tiny_shape()
    np.testing.assert_array_equal(position_table(shape).numpy(), sinusoids(shape.max_positions, shape.width))
    rotary = tiny_shape(positions="rotary")
    for whole, half in zip(position_table(rotary).numpy(), rotations(160, rotary.head_size), strict=True):
        np.testing.assert_array_equal(whole, np.concatenate([half, half], axis=1))
