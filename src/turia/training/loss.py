"""Label-smoothed cross-entropy, summed over labels (padding left out)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from turia.model.transformer import Transformer
from turia.text.symbols import PAD_ID


class SummedLoss(nn.Module):
    """The model with its loss: one module, so that several processes can share its gradient."""

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(
        self,
        source: Tensor,
        reach: Tensor,
        target: Tensor,
        limit: Tensor,
        shift: Tensor | None = None,
        counted: Tensor | None = None,
    ) -> Tensor:
        """source, reach [B, S]; target [B, T + 1]; limit, counted [B, T]; shift [B, 2] -> the sum over labels.

        Over those that are `counted`; without it, over all but padding.
        """
        states = self.model(source, reach, target[:, :-1], limit, shift)
        labels = target[:, 1:]
        # Padding goes before the projection to the vocabulary, the dearest matrix of a small model.
        real = labels != PAD_ID if counted is None else counted
        logits = self.model.logits(states[real])
        return F.cross_entropy(logits, labels[real], reduction="sum", label_smoothing=self.smoothing)
