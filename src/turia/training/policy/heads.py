"""Heads: two-layer perceptrons on states, trained in minutes, and how they are stored.

Letters: B samples, M lags, N numbers of a state, or of two of them joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from turia.config import HeadTraining
from turia.runtime.heads import PerceptronHead
from turia.training.policy.states import Floats, Labelled, Lagged

_REST_WORDS = 10.0
"""Words of lag that are counted for a word that is not written when all has been read."""
_LAG = -2
"""Where the lag stands in what a halting head is shown."""
_FIRST_LAG = 4.0
"""The lag, in words, at which a halting head writes before it has learned anything."""
_LATE = 0.25
"""Share of the words that may begin at any lag; the others begin at one of the smaller half, as most do in a stream."""


class Perceptron(nn.Module):
    """Numbers [..., N] -> logit [...]."""

    def __init__(self, values: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(values, hidden), nn.Linear(hidden, 1)

    def forward(self, values: Tensor) -> Tensor:
        logits: Tensor = self.second(F.relu(self.first(values))).squeeze(-1)
        return logits


def train_boundary_head(data: Labelled, chosen: HeadTraining, seed: int) -> Perceptron:
    """A head that says yes or no: cross-entropy."""
    states, labels = torch.from_numpy(data.states), torch.from_numpy(data.labels).float()
    torch.manual_seed(seed)
    head = Perceptron(states.shape[-1], chosen.hidden)

    def loss(batch: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(head(states[batch]), labels[batch])

    _optimise(head, len(states), loss, chosen)
    return head.eval()


def train_halting_head(data: Lagged, lag_cost: float, chosen: HeadTraining, seed: int) -> Perceptron:
    """A head whose probabilities spread a target word over lags: the least expected loss + lag_cost · lag.

    Each time a word is drawn, it begins at a lag of its own, as it does in a stream, where the words before it decide
    how much has been read.

    The head begins as wait-k: one of its inner values is the lag. From a head that knows nothing, training ended with
    one that always writes at once, unless lag was very cheap: that is what late words want, and they are many.
    """
    states = torch.from_numpy(data.states)
    # Who has not halted when all was read would wait on: without a price for that, nothing would be learned there.
    costs = torch.from_numpy(with_rest(data.losses) + lag_cost * with_rest(data.lags, _REST_WORDS))
    read = torch.from_numpy(data.read)
    torch.manual_seed(seed)
    head = Perceptron(states.shape[-1], chosen.hidden)
    _begin_as_wait_k(head)
    begins = torch.Generator().manual_seed(seed)

    def loss(batch: Tensor) -> Tensor:
        lags, count = states.shape[1], (len(batch),)
        late = torch.rand(count, generator=begins) < _LATE
        early = torch.randint(max(1, lags // 2), count, generator=begins)
        begin = torch.where(late, torch.randint(lags, count, generator=begins), early)
        probabilities = torch.sigmoid(head(states[batch].float()))
        return (halting_shares(probabilities, read[batch], begin) * costs[batch]).sum(dim=1).mean()

    _optimise(head, len(states), loss, chosen)
    return head.eval()


@torch.no_grad()
def _begin_as_wait_k(head: Perceptron) -> None:
    """The logit is the lag less `_FIRST_LAG`, and something small of everything else."""
    head.first.weight[0].zero_()
    head.first.weight[0, _LAG] = 1.0
    head.first.bias[0] = 0.0
    head.second.weight[0, 0] = 1.0
    head.second.bias.fill_(-_FIRST_LAG)


def halting_shares(probabilities: Tensor, read: Tensor, begin: Tensor) -> Tensor:
    """[B, M + 1] how much of a word is written at each lag: what its halting probability adds, from lag number `begin`
    [B] on, until all of it is; and the rest. Between two lags, each word read adds the later one's.

    probabilities, read [B, M].
    """
    number = torch.arange(read.shape[1])
    words = torch.diff(read, dim=1, prepend=read[:, :1]).float()
    words = torch.where(number == begin[:, None], torch.ones_like(words), words) * (number >= begin[:, None])
    total = (words * probabilities).cumsum(dim=1).clamp(max=1.0)
    total = torch.cat([total, torch.ones_like(total[:, :1])], dim=1)
    return torch.diff(total, dim=1, prepend=torch.zeros_like(total[:, :1]))


def with_rest(values: Floats, more: float = 0.0) -> Floats:
    """[B, M] -> [B, M + 1]: of the rest as of the last lag, and `more`."""
    return np.concatenate([values, values[:, -1:] + np.float32(more)], axis=1)


def _optimise(head: Perceptron, samples: int, loss: Callable[[Tensor], Tensor], chosen: HeadTraining) -> None:
    optimiser = torch.optim.Adam(head.parameters(), lr=chosen.learning_rate)
    steps = chosen.epochs * -(-samples // chosen.batch)
    # Warm, then cold: a third of the steps up, the rest down.
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, chosen.learning_rate, total_steps=max(2, steps))
    for batch in _batches(samples, chosen):
        optimiser.zero_grad()
        loss(batch).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        rate.step()


def _batches(samples: int, chosen: HeadTraining) -> Iterator[Tensor]:
    for _ in range(chosen.epochs):
        order = torch.randperm(samples)
        for begin in range(0, samples, chosen.batch):
            yield order[begin : begin + chosen.batch]


@torch.no_grad()
def boundary_figures(head: Perceptron, data: Labelled) -> dict[str, float]:
    """The best F1, the threshold that has it, and the share of samples whose answer is yes."""
    said = torch.sigmoid(head(torch.from_numpy(data.states))).numpy()
    order = np.argsort(-said, kind="stable")
    right = np.cumsum(data.labels[order])
    f1 = 2 * right / (np.arange(1, len(said) + 1) + max(1, int(data.labels.sum())))
    best = int(f1.argmax())
    return {"F1": float(f1[best]), "threshold": float(said[order[best]]), "share": float(data.labels.mean())}


@torch.no_grad()
def halting_figures(head: Perceptron, data: Lagged) -> dict[str, float]:
    """Expected loss and lag of a word that begins at the smallest lag; and the loss of wait-k at that mean lag."""
    probabilities = torch.sigmoid(head(torch.from_numpy(data.states).float()))
    begin = torch.zeros(len(probabilities), dtype=torch.int64)
    shares = halting_shares(probabilities, torch.from_numpy(data.read), begin).numpy()
    loss = float((shares * with_rest(data.losses)).sum(axis=1).mean())
    lag = float((shares * with_rest(data.lags)).sum(axis=1).mean())
    fixed = float(np.interp(lag, data.lags.mean(axis=0), data.losses.mean(axis=0)))
    return {"loss": loss, "lag": lag, "loss of wait-k": fixed}


@torch.no_grad()
def stored_head(head: Perceptron) -> PerceptronHead:
    """As streams ask it."""
    first, second = head.first, head.second
    rows = torch.cat([first.weight, first.bias[:, None], second.weight.T], dim=1)
    return PerceptronHead(rows.numpy(), float(second.bias))
