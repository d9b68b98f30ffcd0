"""The classifier: does a sentence end at this word? (METHOD section 5, Appendix D)

Letters: B samples, P past slots, F future slots of the widest window, L = P + 1 + F, E embedding, H hidden.

One embedding and one GRU are read from left to right over the window; each w has its own output on top.
States do not depend on what follows them, so the state after slot P + w has seen exactly what a segmenter
of w future words may see, and all w are trained at once on the same samples. A single `windows=(w,)` gives
the paper's separate network.

- `ff-text` (the paper's command): the states of the word and its w future words side by side, two ReLU
  layers, 2 logits.
- `rnn`: the last of those states, 2 logits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from turia.config import SegmenterModel
from turia.segmenter.window import PAST


class SegmenterNetwork(nn.Module):
    """What is trained, of any kind."""

    windows: tuple[int, ...]


class Network(SegmenterNetwork):
    """Logits "goes on" and "ends here" for every w in `model.windows`."""

    def __init__(self, model: SegmenterModel, ids: int) -> None:
        super().__init__()
        self.windows = model.windows
        self.last_only = model.network == "rnn"
        self.embedding = nn.Embedding(ids, model.embedding)
        self.dropout = nn.Dropout(model.dropout)
        self.gru = nn.GRU(model.embedding, model.hidden, batch_first=True)
        self.outputs = nn.ModuleDict({str(w): self._output(model, w) for w in model.windows})

    def forward(self, ids: Tensor) -> dict[int, Tensor]:
        """ids [B, L] → for each w, logits [B, 2]."""
        states, _ = self.gru(self.dropout(self.embedding(ids)))
        # Once for all windows: drawing random numbers was a fifth of the work.
        states = self.dropout(states)
        return {w: self.logits(states, w) for w in self.windows}

    def logits(self, states: Tensor, w: int) -> Tensor:
        """states [B, ≥ P + 1 + w, H] → [B, 2] by the output of window w."""
        first = PAST + w if self.last_only else PAST
        seen = states[:, first : PAST + w + 1]
        output: Tensor = self.outputs[str(w)](seen.flatten(1))
        return output

    @torch.inference_mode()
    def probabilities(self, ids: Tensor, w: int) -> Tensor:
        """ids [B, ≥ P + 1 + w] → [B] of a sentence end by window w alone, without dropout."""
        states, _ = self.gru(self.embedding(ids[:, : PAST + 1 + w]))
        return self.logits(states, w).softmax(dim=1)[:, 1]

    def output_layers(self, w: int) -> list[nn.Module]:
        """The layers on top of the states of window w, without dropout."""
        output = self.outputs[str(w)]
        assert isinstance(output, nn.Sequential)
        return [layer for layer in output if not isinstance(layer, nn.Dropout)]

    @staticmethod
    def _output(model: SegmenterModel, w: int) -> nn.Module:
        if model.network == "rnn":
            return nn.Sequential(nn.Linear(model.hidden, 2))
        return nn.Sequential(
            nn.Linear((w + 1) * model.hidden, model.feed_forward),
            nn.ReLU(),
            nn.Dropout(model.dropout),
            nn.Linear(model.feed_forward, model.feed_forward),
            nn.ReLU(),
            nn.Dropout(model.dropout),
            nn.Linear(model.feed_forward, 2),
        )


def loss(logits: dict[int, Tensor], labels: Tensor) -> Tensor:
    """Cross-entropy [] of labels [B], averaged over the windows."""
    losses = [nn.functional.cross_entropy(of_window, labels) for of_window in logits.values()]
    return torch.stack(losses).mean()
