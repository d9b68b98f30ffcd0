"""What the engine knows of a model: its positions, its vocabulary, the attention that policies look at."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.fakes import Echo, fake_model
from turia.engine.model import Attention, parse_attention
from turia.errors import ConfigError


@pytest.mark.parametrize(("positions", "history", "sentence"), [(64, 32, 31), (65, 32, 32), (512, 256, 255)])
def test_history_and_sentence_share_the_positions(positions: int, history: int, sentence: int) -> None:
    """One position is left for the symbol that closes the sentence."""
    model = fake_model(Echo(), max_positions=positions)
    assert (model.history_positions, model.sentence_positions) == (history, sentence)


def test_attention_of_a_layer_and_head() -> None:
    every = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert parse_attention("0").of(every).tolist() == [4, 5, 6, 7]
    assert parse_attention("1:0").of(every).tolist() == [12, 13, 14, 15]
    assert Attention().of(every, layer=0).tolist() == [4, 5, 6, 7]
    # A head was chosen in its own layer, and means nothing in another one.
    assert parse_attention("1:0").of(every, layer=0).tolist() == [4, 5, 6, 7]
    assert parse_attention("1:0").of(every, layer=-1).tolist() == [12, 13, 14, 15]
    for text in ("first", "1:", "1_0", "\u0661"):
        with pytest.raises(ConfigError, match="expected LAYER or LAYER:HEAD"):
            parse_attention(text)
