"""What is run is what was trained (METHOD section 7: "the best test of all").

The engine, fed the reference, must see at every row the scores of one teacher-forced pass with the training masks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.fakes import subwords
from tests.engine.told import Told
from turia.config import Encoder, Positions
from turia.config import ModelSettings as ModelConfig
from turia.engine.backend import run_steps
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.window import PartialSentence
from turia.model.transformer import Transformer
from turia.policy.base import CountingPolicy, Situation
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.shape import shape_of
from turia.segmenter.online import GivenSegmenter
from turia.text.layout import Sentence, lay_out, target_rows
from turia.text.symbols import BRK_ID, END_ID, SEP_ID
from turia.training.paths import MaskSettings
from turia.training.validation import engine_model


def random_transformer(encoder: Encoder, positions: Positions = "sinusoidal", seed: int = 5) -> Transformer:
    torch.manual_seed(seed)
    config = ModelConfig(preset="tiny", encoder=encoder, positions=positions, max_positions=256)
    model = Transformer(shape_of(config, len(subwords()), len(subwords()), True)).eval()
    with torch.no_grad():
        # Sharper than a new model, so that rows differ; closing symbols likely enough to end sentences.
        for parameter in model.parameters():
            parameter.mul_(1.6)
        model.target_embedding.weight[[SEP_ID, BRK_ID, END_ID]] *= 1.5
    return model


def sentence(words: list[str]) -> Sentence:
    growing = PartialSentence()
    for word in words:
        growing.add(subwords().encode_word(word))
    return growing.sentence()


SOURCE = [["ka", "leta", "miso", "no"], ["punde", "ra", "kaso", "lenx", "mi", "nota"], ["ta", "leso"]]
TARGET = [["raso", "kata", "no"], ["mi", "lenx", "punde", "kanoso", "ra"], ["nota", "ka", "leso", "mi"]]


def run(steps: Any, model: Model) -> Any:
    return run_steps(steps, model.backend)


@pytest.mark.parametrize("encoder", ["pbe", "unidirectional"])
@pytest.mark.parametrize(("k", "gamma"), [(1, 1.0), (2, 0.8), (3, 1.24), (20, 1.0)])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_fed_the_reference_every_row_scores_as_in_training(
    encoder: Encoder, k: int, gamma: float, positions: Positions
) -> None:
    transformer = random_transformer(encoder, positions)
    model = engine_model(transformer, (subwords(), subwords()), MaskSettings(encoder, "sentence", gamma), history=60)
    source, target = [sentence(words) for words in SOURCE], [sentence(words) for words in TARGET]

    # One teacher-forced pass over the window of all three sentences.
    window, written = lay_out(source, True, END_ID), lay_out(target, True, END_ID)
    rows = target_rows(target)
    reach = encoder_reach(window, k, encoder, "sentence")
    limit = cross_limit(window, rows, k, gamma, "sentence")
    with torch.no_grad():
        states = transformer(*(torch.from_numpy(a)[None] for a in (window.ids, reach, written.ids[:-1], limit)))
        expected = transformer.logits(states[0]).numpy()

    # The engine: three sentences one after the other, word by word, with caches.
    stream = Stream(model, GivenSegmenter([len(words) for words in SOURCE]), Settings(k=k, gamma=gamma))
    policy = stream.settings.policy
    assert isinstance(policy, CountingPolicy)
    found = []
    for n, (said, wanted) in enumerate(zip(SOURCE, TARGET, strict=True)):
        writer = Told(model, stream.settings, stream.history)
        fed = 0
        for number, word in enumerate(said, start=1):
            writer.source.add(subwords().encode_word(word))
            closed = number == len(said)
            # In the middle of a window training closes a sentence with <SEP>; what is compared must too.
            writer.closing = (END_ID if n == 2 else SEP_ID) if closed else None
            while fed < len(wanted) and (closed or policy.may_write(Situation(number, fed, gamma))):
                found += run(writer.feed(wanted[fed]), model)
                fed += 1
        found.append(run(writer.feed_end(), model))
        stream.history.add(writer.source, writer.target, writer.reads)
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.array(found), expected, atol=2e-4)
