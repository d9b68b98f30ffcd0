"""Where single sentences begin, and that a shift is what standing behind a history does to positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_transformer import tiny
from tests.training.toy import toy_recipe
from turia.corpus.batches import Batch, assemble, samples_in_order
from turia.training.data import open_data
from turia.training.shifts import draw_shifts


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Batch, Batch]:
    """Single sentences, and windows of several."""
    data = open_data(toy_recipe(tmp_path_factory.mktemp("toy")))
    (dev,) = data.dev.values()
    single, windows = (assemble(dev, samples_in_order(dev, kind, 4000)[0]) for kind in (False, True))
    return single, windows


@given(seed=st.integers(0, 2**32), most=st.integers(0, 300))
def test_single_sentences_move_within_the_table(batches: tuple[Batch, Batch], seed: int, most: int) -> None:
    single, _ = batches
    positions = 200
    shifts = draw_shifts(np.random.default_rng(seed), single, most, positions, 1.1).numpy()
    assert shifts.shape == (len(single.windows), 2)
    assert shifts.min() >= 0
    assert shifts[:, 0].max() <= most
    assert shifts[:, 0].max() + single.source.shape[1] <= positions
    assert shifts[:, 1].max() + single.target.shape[1] <= positions


@pytest.mark.parametrize("ratio", [1.1, 1.24])
def test_all_places_are_taken_and_the_sides_move_together(batches: tuple[Batch, Batch], ratio: float) -> None:
    rng = np.random.default_rng(1)
    shifts = np.concatenate([draw_shifts(rng, batches[0], 50, 512, ratio).numpy() for _ in range(100)])
    assert set(shifts[:, 0]) == set(range(51))
    far = shifts[shifts[:, 0] > 20]
    drawn = far[:, 1] / far[:, 0] / ratio
    assert drawn.min() == pytest.approx(0.82, abs=0.03)  # whole positions, of 21 or more
    assert drawn.mean() == pytest.approx(1.02, abs=0.01)
    assert drawn.max() == pytest.approx(1.22, abs=0.03)


def test_windows_stay(batches: tuple[Batch, Batch]) -> None:
    shifts = draw_shifts(np.random.default_rng(1), batches[1], 50, 512, 1.1)
    several = torch.tensor([len(window.words) > 1 for window in batches[1].windows])
    assert several.any()
    assert (shifts[several] == 0).all()


def test_a_shifted_row_has_the_positions_of_one_that_stands_there() -> None:
    """Row 1 is moved by 3 and by 2: the same as a table of positions that begins there."""
    model = tiny()
    source, target = torch.tensor([[7, 8, 9, 10], [7, 8, 9, 10]]), torch.tensor([[7, 9, 8], [7, 9, 8]])
    reach, limit = torch.full((2, 4), 4), torch.full((2, 3), 4)
    unmoved = model(source, reach, target, limit)
    moved = model(source, reach, target, limit, torch.tensor([[0, 0], [3, 2]]))
    assert torch.equal(moved[0], unmoved[0])
    table = model.positions
    model.positions = table[3:]
    states = model.encode(source[1:], reach[1:]).states
    model.positions = table[2:]
    expected = model.decode(target[1:], model.memory(states), limit[1:]).states
    torch.testing.assert_close(moved[1:], expected)
    assert not torch.allclose(moved[1], unmoved[1], atol=1e-3)
