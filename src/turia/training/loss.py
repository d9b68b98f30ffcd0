"""Label-smoothed cross-entropy, summed over labels (padding left out)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from turia.model.transformer import Transformer
from turia.text.symbols import PAD_ID

_FEWEST = 8
"""Samples of a batch that make a standard deviation worth something."""


class SummedLoss(nn.Module):
    """The model with its loss: one module, so that several processes can share its gradient."""

    def __init__(self, model: Transformer, smoothing: float, skip_unlikely: float = 0.0) -> None:
        super().__init__()
        self.model, self.smoothing, self.skip_unlikely = model, smoothing, skip_unlikely

    def forward(
        self,
        source: Tensor,
        reach: Tensor,
        target: Tensor,
        limit: Tensor,
        shift: Tensor | None = None,
        counted: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Tensor:
        """source, reach [B, S]; target [B, T + 1]; limit, counted, weight [B, T]; shift [B, 2] -> the sum over labels.

        Over those that are `counted`; without it, over all but padding. Each is taken times its `weight`.
        """
        states = self.model(source, reach, target[:, :-1], limit, shift)
        labels = target[:, 1:]
        # Padding goes before the projection to the vocabulary, the dearest matrix of a small model.
        real = labels != PAD_ID if counted is None else counted
        logits = self.model.logits(states[real])
        if self.skip_unlikely == 0 and weight is None:
            return F.cross_entropy(logits, labels[real], reduction="sum", label_smoothing=self.smoothing)
        losses = F.cross_entropy(logits, labels[real], reduction="none", label_smoothing=self.smoothing)
        taken = losses if weight is None else losses * weight[real]
        if self.skip_unlikely > 0:
            # A pair is as likely as its plain loss says, whatever its labels weigh.
            sample = real.nonzero()[:, 0]
            taken = taken * likely(losses.detach(), sample, len(labels), self.skip_unlikely)[sample]
        return taken.sum()


def likely(losses: Tensor, sample: Tensor, samples: int, deviations: float) -> Tensor:
    """[samples] 0 where a sample's mean loss is more than so many standard deviations above the batch's, else 1.

    losses, sample [L]: of each label, and the sample that it belongs to. Samples of a batch are of like length and
    under one policy, so that one far above the others is most likely a misaligned pair.
    """
    zeros = losses.new_zeros(samples)
    means = zeros.index_add(0, sample, losses) / zeros.index_add(0, sample, torch.ones_like(losses)).clamp(min=1)
    if samples < _FEWEST:
        return torch.ones_like(means)
    return (means <= means.mean() + deviations * means.std()).to(losses.dtype)
