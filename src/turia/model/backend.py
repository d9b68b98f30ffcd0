"""Runs the engine with the torch model itself: for validation, and as a reference for other runtimes.

One request after the other, nothing fused, nothing quantised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from turia.engine.backend import DecodeRequest, EncodeRequest, Logits, LookRequest, Looks, States
from turia.model.layers import KeysValues
from turia.model.transformer import Transformer
from turia.text.layout import Ints


@dataclass(frozen=True)
class TorchSource:
    """Encoder states, and what its layers keep."""

    kept: list[KeysValues]
    all_states: torch.Tensor
    """[1, S, D] of all positions."""
    new: int
    """Positions of the last call."""

    @property
    def length(self) -> int:
        return self.all_states.shape[1]

    @property
    def states(self) -> States:
        """[R, D] of the last call."""
        found: States = self.all_states[0, -self.new :].float().cpu().numpy()
        return found


@dataclass(frozen=True)
class TorchTarget:
    """What the decoder's layers keep."""

    kept: list[KeysValues]
    states: States | None = None
    """[1, D] of the last row."""

    @property
    def length(self) -> int:
        return self.kept[0].keys.shape[2]

    def truncated(self, length: int) -> TorchTarget:
        """The state of the first `length` rows."""
        return TorchTarget([KeysValues(keys[:, :, :length], values[:, :, :length]) for keys, values in self.kept])


class TorchBackend:
    """A backend of the engine."""

    can_look = False
    """Validation runs wait-k, which does not look."""
    gives_states = True

    def __init__(self, model: Transformer) -> None:
        self.model = model.eval()
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def encode(self, requests: Sequence[EncodeRequest]) -> list[TorchSource]:
        found = []
        for request in requests:
            past: TorchSource | None = request.state  # type: ignore[assignment]
            encoded = self.model.encode(self._row(request.ids), self._row(request.reach), past.kept if past else None)
            states = torch.cat([past.all_states, encoded.states], dim=1) if past else encoded.states
            found.append(TorchSource(encoded.kept, states, len(request.ids)))
        return found

    @torch.no_grad()
    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TorchTarget, Logits]]:
        found = []
        for request in requests:
            past: TorchTarget | None = request.state  # type: ignore[assignment]
            source: TorchSource = request.memory  # type: ignore[assignment]
            memory = self.model.memory(source.all_states)
            decoded = self.model.decode(
                self._row(request.ids), memory, self._row(request.limit), past.kept if past else None
            )
            logits = self.model.logits(decoded.states[0, -1])
            last: States = decoded.states[0, -1:].float().cpu().numpy()
            found.append((TorchTarget(decoded.kept, last), logits.float().cpu().numpy()))
        return found

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        """Not supported: `can_look` is False."""
        raise AssertionError("this backend cannot look")

    def _row(self, values: Ints) -> torch.Tensor:
        """[R] -> [1, R]"""
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(self.device)[None]
