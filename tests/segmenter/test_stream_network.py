"""The numpy network by itself: a GRU as torch has it, and a file that holds all of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from turia.config import SegmenterModel
from turia.errors import ModelError
from turia.segmenter.stream_network import StreamNetwork, StreamShape, quantise_rows
from turia.text.vocabulary import BOUNDARY
from turia.training.segmenter.by_stream import StreamTagger, exported

IDS = 9


@pytest.fixture
def network() -> StreamNetwork:
    torch.manual_seed(3)
    return exported(StreamTagger(SegmenterModel("stream", windows=(2,), embedding=5, hidden=4, feed_forward=3), IDS))


def test_a_state_is_that_of_torchs_gru(network: StreamNetwork) -> None:
    weights = network._weights
    cell = torch.nn.GRUCell(5, 4)
    with torch.no_grad():
        for name, stored in (
            ("weight_ih", "input"),
            ("bias_ih", "input_bias"),
            ("weight_hh", "state"),
            ("bias_hh", "state_bias"),
        ):
            getattr(cell, name).copy_(torch.from_numpy(weights[stored]))
        state = torch.zeros(1, 4)
        for word in (BOUNDARY, 5, 8, 3):
            row = weights["embedding"][word] * weights["scale"][word]
            state = cell(torch.from_numpy(row)[None], state)
    ours = network.start
    for word in (5, 8, 3):
        ours = network.read(ours, word)
    np.testing.assert_allclose(ours, state[0].numpy(), atol=1e-6)
    assert ours.dtype == np.float32


def test_each_number_of_future_words_has_an_output(network: StreamNetwork) -> None:
    states = [network.read(network.start, word) for word in (4, 5, 6)]
    found = [network.probability(states[:count]) for count in (1, 2, 3)]
    assert len(set(found)) == 3
    assert all(0 < probability < 1 for probability in found)


def test_extreme_sums_are_probabilities(network: StreamNetwork) -> None:
    for bias, expected in ((1e30, 1.0), (-1e30, 0.0)):
        extreme = StreamNetwork(network.shape, network._weights | {"second_bias0": np.array([bias], dtype=np.float32)})
        assert extreme.probability([network.start]) == pytest.approx(expected, abs=1e-30)


def test_a_file_holds_all_of_it(network: StreamNetwork, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    network.save(path)
    # Embedding 1 byte a value, scales, gates with two biases, three outputs.
    floats = IDS + 12 * 5 + 12 + 12 * 4 + 12 + 3 * (4 + 8 + 12) + 3 * (3 + 3 + 1)
    assert path.stat().st_size == IDS * 5 + 4 * floats
    again = StreamNetwork.load(path, network.shape, IDS)
    for name, array in network._weights.items():
        np.testing.assert_array_equal(again._weights[name], array)
    with pytest.raises(ModelError, match=r"weights: [\d,]+ bytes, expected"):
        StreamNetwork.load(path, network.shape, IDS + 1)


@pytest.mark.parametrize("change", [{"hidden": 0}, {"embedding": True}, {"feed_forward": 5000}, {"longest": -1}])
def test_a_shape_has_sensible_sizes(change: dict[str, int]) -> None:
    fine = {"embedding": 5, "hidden": 4, "feed_forward": 3, "longest": 0}
    assert StreamShape(**fine).longest == 0
    with pytest.raises(ModelError, match="expected a whole number up to 4096"):
        StreamShape(**fine | change)


def test_rows_are_rounded_to_bytes_with_a_scale_each() -> None:
    table = np.array([[127.0, -63.5], [0.0, 0.0], [0.0099, 0.02]], dtype=np.float32)
    rounded, scale = quantise_rows(table)
    assert rounded.tolist() == [[127, -64], [0, 0], [63, 127]]
    np.testing.assert_allclose(rounded * scale, table, atol=0.51)
