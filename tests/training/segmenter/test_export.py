"""The exported graphs compute what the network does, with its embedding rounded to 8 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.fixtures.tiny_segmenter import WORDS
from turia.segmenter.classifier import Classifier
from turia.segmenter.stream_network import quantise_rows
from turia.segmenter.window import PAST
from turia.training.segmenter.network import Network


@pytest.mark.parametrize("w", range(5))
@pytest.mark.parametrize("streams", [1, 6])
def test_onnx_equals_torch(exported: Path, network: Network, w: int, streams: int) -> None:
    """Exactly the network with its embedding rounded to 8 bits."""
    ids = np.random.default_rng(w).integers(0, 3 + len(WORDS), (streams, PAST + 1 + w))
    table, scale = quantise_rows(network.embedding.weight.detach().numpy())
    with torch.inference_mode():
        states, _ = network.gru(torch.from_numpy(table * scale)[torch.from_numpy(ids)])
        expected = network.logits(states, w).softmax(dim=1)[:, 1].numpy()
    found = Classifier(exported, w).probabilities(ids)
    assert found.shape == (streams,)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rounding_the_embedding_moves_it_by_half_a_step_at_most() -> None:
    table = np.random.default_rng(1).normal(size=(5, 7)).astype(np.float32)
    table[2] = 0
    rounded, scale = quantise_rows(table)
    assert rounded.dtype == np.int8
    assert (np.abs(rounded * scale - table) <= scale / 2 + 1e-6).all()
