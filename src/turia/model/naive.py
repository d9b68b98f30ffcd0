"""The baseline of `turia bench`: eager torch on one thread, which is how the paper's systems were run."""

from __future__ import annotations

import torch

from turia.model.backend import TorchBackend
from turia.model.transformer import Transformer
from turia.runtime.shape import Shape


def naive_backend(shape: Shape) -> TorchBackend:
    """A model of this shape in float32 with random weights. Caches are used or not by the engine's settings."""
    torch.set_num_threads(1)
    return TorchBackend(Transformer(shape))
