"""Muon against a plain reference: singular values by an SVD, one matrix after the other, in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.model.test_transformer import tiny
from turia.training.distributed import Ranks
from turia.training.muon import Muon, matrices_of, orthogonalise, share_out

Matrix = npt.NDArray[np.float64]
ALONE = Ranks(0, 1, torch.device("cpu"))


def orthogonal(matrix: Matrix) -> Matrix:
    """Five times the quintic polynomial on the singular values of the matrix, its norm being 1 before."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values / (np.linalg.norm(matrix) + 1e-7)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return np.asarray(left * values @ right)


class PlainMuon:
    """The same optimiser, as one would first write it down."""

    def __init__(self, matrix: Matrix, momentum: float, decay: float) -> None:
        self.matrix, self.momentum, self.decay = matrix, momentum, decay
        self.mean = np.zeros_like(matrix)

    def step(self, gradient: Matrix, rate: float) -> None:
        beta = self.momentum
        self.mean = beta * self.mean + (1 - beta) * gradient
        update = orthogonal(beta * self.mean + (1 - beta) * gradient)
        rows, columns = gradient.shape
        self.matrix = self.matrix * (1 - rate * self.decay) - rate * max(1, rows / columns) ** 0.5 * update


@pytest.mark.parametrize("shape", [(8, 8), (24, 8), (8, 24), (1, 8), (8, 1)])
def test_singular_values_go_to_one_and_directions_stay(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    left, values, right = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    values = np.geomspace(1, 0.03, len(values)) * 100  # as uneven as those of gradients
    matrices = torch.from_numpy(np.stack([left * values @ right, rng.normal(size=shape)])).float()
    found = orthogonalise(matrices)
    for one, result in zip(matrices.double().numpy(), found.double().numpy(), strict=True):
        np.testing.assert_allclose(result, orthogonal(one), atol=2e-5)
    assert np.linalg.svd(found[0].numpy(), compute_uv=False).min() > 0.65
    assert np.linalg.svd(found.numpy(), compute_uv=False).max() < 1.25


@pytest.mark.parametrize("shape", [(8, 8), (24, 8), (8, 24)])
def test_bfloat16_is_near_float32(shape: tuple[int, int]) -> None:
    """It has 8 bits of precision, and five steps each add an error; the singular values stay about 1."""
    matrices = (
        torch.randn(3, *shape, generator=torch.Generator().manual_seed(4)) * torch.tensor([1e-6, 1, 1e3])[:, None, None]
    )
    exact, found = orthogonalise(matrices), orthogonalise(matrices, torch.bfloat16)
    assert found.dtype == torch.float32
    assert not torch.equal(found, exact)
    assert float((found - exact).norm() / exact.norm()) < 0.02
    values = torch.linalg.svdvals(found)
    assert 0.6 < float(values.min()) <= float(values.max()) < 1.3


def test_muon_multiplies_in_the_precision_it_is_given() -> None:
    weight = nn.Parameter(torch.zeros(8, 8))
    weight.grad = torch.randn(8, 8, generator=torch.Generator().manual_seed(5))
    Muon([(weight, [(0, 8)])], lr=1.0, precision=torch.bfloat16).step()
    expected = orthogonalise(weight.grad[None], torch.bfloat16)[0]
    torch.testing.assert_close(-weight.detach(), expected, atol=2e-6, rtol=0)
    assert weight.dtype == torch.float32


def test_nothing_comes_of_nothing() -> None:
    """A layer without a gradient stays, and is not divided by zero."""
    torch.testing.assert_close(orthogonalise(torch.zeros(2, 3, 5)), torch.zeros(2, 3, 5), atol=0, rtol=0)


def test_the_matrices_of_the_layers_are_muon_s_with_keys_and_values_as_two() -> None:
    model = tiny(positions="rotary", joint=False)
    found = matrices_of(model)
    layers = {name for name, parameter in model.named_parameters() if parameter.ndim == 2 and "layers." in name}
    assert found.keys() == layers
    assert "target_embedding.weight" not in found
    for name, blocks in found.items():
        rows = model.get_parameter(name).shape[0]
        assert blocks == ([(0, 64), (64, 128)] if name.endswith("key_value.weight") else [(0, rows)])
    assert sum(len(blocks) == 2 for blocks in found.values()) == 2 + 2 * 2


def test_every_step_is_that_of_the_plain_reference() -> None:
    """Square, high, wide, and two in one parameter; rates that change, momentum, decay."""
    torch.manual_seed(2)
    layers = nn.ModuleDict({"wide": nn.Linear(12, 5), "high": nn.Linear(4, 9), "key_value": nn.Linear(6, 12)})
    blocks = matrices_of(layers)
    assert blocks["key_value.weight"] == [(0, 6), (6, 12)]
    parameters = {name: layers.get_parameter(name) for name in blocks}
    muon = Muon([(parameters[name], parts) for name, parts in blocks.items()], 0.1, momentum=0.9, weight_decay=0.05)
    plain = {
        (name, begin, end): PlainMuon(parameters[name][begin:end].detach().double().numpy(), 0.9, 0.05)
        for name, parts in blocks.items()
        for begin, end in parts
    }
    rng = np.random.default_rng(3)
    for rate in (0.02, 0.1, 0.05, 0.001):
        muon.param_groups[0]["lr"] = rate
        for name, parameter in parameters.items():
            gradient = rng.normal(size=tuple(parameter.shape)) * 10.0 ** rng.integers(-6, 3)
            parameter.grad = torch.from_numpy(gradient).float()
            for begin, end in blocks[name]:
                plain[name, begin, end].step(gradient[begin:end], rate)
        muon.step()
        for (name, begin, end), reference in plain.items():
            found = parameters[name][begin:end].detach().numpy()
            np.testing.assert_allclose(found, reference.matrix, atol=2e-6, err_msg=name)


@pytest.mark.slow
@given(costs=st.lists(st.integers(1, 1000), max_size=40), world=st.integers(1, 6))
def test_the_work_is_shared_out_evenly(costs: list[int], world: int) -> None:
    owners = share_out(costs, world)
    loads = [sum(cost for cost, owner in zip(costs, owners, strict=True) if owner == rank) for rank in range(world)]
    assert sum(loads) == sum(costs)
    assert max(loads) - min(loads) <= max(costs, default=0)
