"""A model in CTranslate2's format gives every piece the probability that ours gives it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.models import (
    Norm,
    config_of,
    random_transformer,
    save_subwords,
    tiny_shape,
    torch_logits,
    weights_of,
)
from turia.config import Positions
from turia.export.folder import write_folder

ctranslate2 = pytest.importorskip("ctranslate2")

from turia.export.as_ctranslate2 import save_as_ctranslate2  # noqa: E402 - it needs ctranslate2

SOURCE = np.array([2, 40, 41, 42, 99, 120, 5])
TARGET = np.array([2, 60, 61, 77, 101, 5])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_it_is_the_same_model(tmp_path: Path, norm: Norm, joint: bool, positions: Positions) -> None:
    shape = tiny_shape(norm, joint, positions)
    model = random_transformer(shape)
    save_subwords(shape, tmp_path / "subwords")
    write_folder(tmp_path / "ours", config_of(shape), weights_of(model), "a card\n", tmp_path / "subwords")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    save_as_ctranslate2(tmp_path / "ours", theirs)
    translator = ctranslate2.Translator(str(theirs), compute_type="float32", intra_threads=1)
    source, target = ([[str(piece) for piece in ids]] for ids in (SOURCE, TARGET[1:-1]))
    # It adds the symbols that open and close the target by itself, where it scores.
    (scored,) = translator.score_batch(source, [[str(TARGET[0]), *target[0]]])
    seen = np.full(len(TARGET) - 1, len(SOURCE))
    logits = torch_logits(model, SOURCE, np.full(len(SOURCE), len(SOURCE)), TARGET[:-1], seen)
    expected = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert scored.tokens == [*target[0], str(TARGET[-1])]
    np.testing.assert_allclose(scored.log_probs, expected[np.arange(len(seen)), TARGET[1:]], atol=1e-4)
