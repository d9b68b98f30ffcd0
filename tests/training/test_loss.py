"""Which samples a batch is learned from."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from turia.text.symbols import PAD_ID
from turia.training.loss import SummedLoss, likely

VOCABULARY, SAMPLES, ROWS = 30, 12, 7


class Copies(nn.Module):
    """A model that has learned to copy its source, one piece a row, with some confidence."""

    def __init__(self) -> None:
        super().__init__()
        self.confidence = nn.Parameter(torch.ones(SAMPLES, 1, 1))

    def forward(self, source: Tensor, *_: Tensor | None) -> Tensor:
        known = 4 * F.one_hot(source, VOCABULARY).float() * self.confidence[: len(source)]
        # Not all samples are equally easy.
        return known * torch.linspace(0.8, 1.2, len(source))[:, None, None]

    def logits(self, states: Tensor) -> Tensor:
        return states


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(7, VOCABULARY, (SAMPLES, ROWS), generator=generator)
    target = torch.cat([torch.full((SAMPLES, 1), 2), source], dim=1)
    target[3, 5:] = PAD_ID
    return source, target


def loss_and_gradients(
    source: Tensor, target: Tensor, skip: float, weight: Tensor | None = None
) -> tuple[float, Tensor]:
    model = Copies()
    limits = torch.ones_like(source)
    loss = SummedLoss(model, 0.1, skip)(source, limits, target, limits, weight=weight)  # type: ignore[arg-type]
    loss.backward()
    assert model.confidence.grad is not None
    return float(loss.detach()), model.confidence.grad[:, 0, 0]


def test_a_misaligned_sample_is_skipped_and_no_other() -> None:
    source, target = batch()
    plain, _ = loss_and_gradients(source, target, skip=0.0)
    kept, gradients = loss_and_gradients(source, target, skip=2.5)
    assert kept == pytest.approx(plain)
    planted = 5
    target[planted, 1:] = target[planted, 1:].flip(0) - 1
    others = [sample for sample in range(SAMPLES) if sample != planted]
    found, with_planted = loss_and_gradients(source, target, skip=2.5)
    assert with_planted[planted] == 0
    torch.testing.assert_close(with_planted[others], gradients[others])
    everything, learned_wrong = loss_and_gradients(source, target, skip=0.0)
    assert learned_wrong[planted] != 0
    assert everything > plain + 10
    source[planted], target[planted] = PAD_ID, PAD_ID  # a sample without labels
    assert found == pytest.approx(loss_and_gradients(source, target, skip=0.0)[0])


@pytest.mark.parametrize("skip", [0.0, 2.5])
def test_labels_are_taken_times_their_weights(skip: float) -> None:
    source, target = batch()
    weight = torch.ones_like(source).float()
    plain = loss_and_gradients(source, target, skip)
    same = loss_and_gradients(source, target, skip, weight)
    assert same[0] == pytest.approx(plain[0])
    torch.testing.assert_close(same[1], plain[1])
    weight[2] = 3.0
    weight[3, 5:] = 99.0  # padding
    found, gradients = loss_and_gradients(source, target, skip, weight)
    expected = plain[1].clone()
    expected[2] *= 3
    torch.testing.assert_close(gradients, expected)
    assert plain[0] < found < 3 * plain[0]


def test_weights_make_no_pair_unlikely() -> None:
    """One that weighs ten times as much has no worse translation."""
    source, target = batch()
    weight = torch.ones_like(source).float()
    weight[5] = 10.0
    _, gradients = loss_and_gradients(source, target, 2.5, weight)
    assert gradients[5] == pytest.approx(10 * float(loss_and_gradients(source, target, 2.5)[1][5]))


def test_of_a_few_samples_none_is_unlikely() -> None:
    for samples, dropped in ((7, 0), (8, 1)):
        losses = torch.tensor([1.0] * (samples - 1) + [50.0])
        kept = likely(losses, torch.arange(samples), samples, 2.0)
        assert int((kept == 0).sum()) == dropped


def test_it_is_the_mean_of_a_sample_that_counts() -> None:
    """A long sample has more loss, and one wild piece in a good sample is not a wrong pair."""
    sample = torch.cat([torch.arange(10).repeat(4), torch.full((100,), 9)])
    losses = torch.ones(len(sample))
    losses[3] = 4.0
    assert likely(losses, sample, 10, 3.0).tolist() == [1.0] * 10
    losses[sample == 6] = 4.0
    assert likely(losses, sample, 10, 2.0).tolist() == [float(number != 6) for number in range(10)]
