"""Each window sees its own future words and no more, in both networks."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from turia.config import SegmenterModel
from turia.segmenter.window import PAST
from turia.training.segmenter.network import Network, loss

Kind = Literal["ff-text", "rnn"]
IDS, WINDOWS = 30, (0, 1, 2, 3, 4)


def network(kind: Kind) -> Network:
    torch.manual_seed(3)
    return Network(SegmenterModel(kind, WINDOWS, embedding=6, hidden=5, feed_forward=7), IDS).eval()


@pytest.mark.parametrize("kind", ["ff-text", "rnn"])
@torch.inference_mode()
def test_a_window_sees_its_last_future_word_and_nothing_after_it(kind: Kind) -> None:
    ids = torch.randint(0, IDS, (8, PAST + 1 + max(WINDOWS)))
    asked = network(kind)
    before = asked(ids)
    for slot in range(PAST, ids.shape[1]):
        changed = ids.clone()
        changed[:, slot] = (changed[:, slot] + 1) % IDS
        after = asked(changed)
        for w in WINDOWS:
            assert torch.equal(before[w], after[w]) == (slot > PAST + w)


@pytest.mark.parametrize("kind", ["ff-text", "rnn"])
@torch.inference_mode()
def test_one_window_alone_is_asked_as_all_together_are(kind: Kind) -> None:
    ids = torch.randint(0, IDS, (8, PAST + 1 + max(WINDOWS)))
    asked = network(kind)
    for w, logits in asked(ids).items():
        torch.testing.assert_close(asked.probabilities(ids, w), logits.softmax(dim=1)[:, 1])


def test_the_outputs_are_those_of_the_paper() -> None:
    """`ff-text`: the last w + 1 states, two ReLU layers of 128, two logits; `rnn`: the last state, two logits."""
    shapes = {
        kind: [tuple(weight.shape) for weight in Network(SegmenterModel(kind), IDS).outputs["4"].parameters()]
        for kind in ("ff-text", "rnn")
    }
    assert shapes == {
        "ff-text": [(128, 5 * 256), (128,), (128, 128), (128,), (2, 128), (2,)],
        "rnn": [(2, 256), (2,)],
    }


def test_the_loss_is_the_mean_over_windows() -> None:
    even, sure = torch.zeros(1, 2), torch.tensor([[-50.0, 50.0]])
    assert loss({0: even, 1: sure}, torch.tensor([1])).item() == pytest.approx(math.log(2) / 2)
