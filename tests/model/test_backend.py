"""The torch model as a backend: steps give what one pass gives, requests do not meet, states are not changed."""

from __future__ import annotations

import numpy as np

from tests.model.test_transformer import VOCABULARY, tiny
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.model.backend import TorchBackend

SOURCE = np.arange(9) % VOCABULARY
REACH = np.array([3, 3, 3, 4, 5, 6, 7, 8, 9])
TARGET = np.array([2, 11, 12, 13])
LIMIT = np.array([3, 5, 7, 9])


def test_steps_give_what_one_pass_gives() -> None:
    backend = TorchBackend(tiny())
    [whole] = backend.encode([EncodeRequest(None, SOURCE, REACH)])
    [begun] = backend.encode([EncodeRequest(None, SOURCE[:4], REACH[:4])])
    [grown] = backend.encode([EncodeRequest(begun, SOURCE[4:], REACH[4:])])
    assert (begun.length, grown.length, whole.length) == (4, 9, 9)
    np.testing.assert_allclose(grown.all_states, whole.all_states, atol=1e-5)
    np.testing.assert_allclose(grown.states[-1], whole.states[-1], atol=1e-5)

    [(all_rows, expected)] = backend.decode([DecodeRequest(None, whole, TARGET, LIMIT)])
    state = None
    for row in range(len(TARGET)):
        [(state, logits)] = backend.decode([DecodeRequest(state, grown, TARGET[row : row + 1], LIMIT[row : row + 1])])
        assert state.length == row + 1
    assert all_rows.length == len(TARGET)
    assert logits.shape == (VOCABULARY,)
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_requests_of_one_step_do_not_meet() -> None:
    backend = TorchBackend(tiny())
    requests = [EncodeRequest(None, SOURCE, REACH), EncodeRequest(None, SOURCE[::-1], REACH)]
    together = backend.encode(requests)
    for request, state in zip(requests, together, strict=True):
        [alone] = backend.encode([request])
        np.testing.assert_array_equal(alone.states, state.states)


def test_a_state_can_be_used_again_and_cut() -> None:
    backend = TorchBackend(tiny())
    [memory] = backend.encode([EncodeRequest(None, SOURCE, REACH)])
    [(state, _)] = backend.decode([DecodeRequest(None, memory, TARGET[:2], LIMIT[:2])])
    last = DecodeRequest(state, memory, TARGET[2:3], LIMIT[2:3])
    [(longer, first)] = backend.decode([last])
    [(_, again)] = backend.decode([last])
    np.testing.assert_array_equal(first, again)
    cut = longer.truncated(2)
    assert cut.length == 2
    [(_, from_cut)] = backend.decode([DecodeRequest(cut, memory, TARGET[2:3], LIMIT[2:3])])
    np.testing.assert_array_equal(from_cut, first)
