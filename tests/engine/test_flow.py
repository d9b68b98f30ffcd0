"""What is run without a segmenter is what was trained: every row sees what it saw in training, and scores the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.fakes import FreeEcho, fake_model, subwords
from tests.engine.test_training_match import SOURCE, TARGET, random_transformer, sentence
from tests.engine.told import Told
from turia.config import Encoder
from turia.corpus.batches import Batch
from turia.engine.backend import run_steps
from turia.engine.flow import FlowWriter
from turia.engine.model import Attention
from turia.engine.settings import Settings
from turia.engine.window import History
from turia.policy.base import CountingPolicy, Situation
from turia.text.layout import lay_out, target_rows
from turia.text.symbols import END_ID, MORE_ID, SEP_ID
from turia.training.paths import MaskSettings, batch_limits
from turia.training.validation import engine_model


class Fed(Told, FlowWriter):
    """A writer without a segmenter that is told what to write."""


@pytest.mark.parametrize("encoder", ["pbe", "unidirectional"])
@pytest.mark.parametrize(("k", "gamma"), [(1, 1.0), (2, 0.8), (3, 1.24), (20, 1.0)])
def test_fed_the_reference_every_row_scores_as_in_training(encoder: Encoder, k: int, gamma: float) -> None:
    transformer = random_transformer(encoder, "rotary")
    masks = MaskSettings(encoder, "sentence", gamma)
    model = engine_model(transformer, (subwords(), subwords()), masks, history=60)
    source, target = [sentence(words) for words in SOURCE], [sentence(words) for words in TARGET]
    window, written = lay_out(source, True, END_ID, flowing=True), lay_out(target, True, END_ID)
    batch = Batch(window.ids[None], written.ids[None], [window], [target_rows(target)])
    reach, limit = batch_limits(batch, k, masks)
    with torch.no_grad():
        states = transformer(torch.from_numpy(batch.source), reach, torch.from_numpy(batch.target[:, :-1]), limit)
        expected = transformer.logits(states[0]).numpy()

    # The engine reads word by word, is told the separators, and cuts the source where the reference does.
    settings = Settings(k=k, gamma=gamma)
    policy = settings.policy
    assert isinstance(policy, CountingPolicy)
    waiting = [word for words in SOURCE for word in words]
    history = History(flowing=True)
    writer = Fed(model, settings, history)
    found: list[Any] = []

    def read_one() -> None:
        writer.source.add(subwords().encode_word(waiting.pop(0)))
        writer.closing = None if waiting else END_ID

    for said, wanted in zip(SOURCE, TARGET, strict=True):
        for fed, word in enumerate([*wanted, None]):
            while waiting and not (
                policy.may_write(Situation(writer.source.words, fed, gamma))
                and (word is not None or writer.source.words >= len(said))
            ):
                read_one()
            steps = writer.feed_end() if word is None else writer.feed(word)
            result = run_steps(steps, model.backend)
            found += [result] if word is None else result
        own, rest = writer.source.split(len(said))
        history.add(own, writer.target, writer.reads_as_history())
        closing = writer.closing
        writer = Fed(model, settings, history, rest, closing)
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.array(found), expected, atol=2e-4)


def test_symbols_that_may_come_between_words() -> None:
    model = fake_model(FreeEcho(), free=True)
    writer = FlowWriter(model, Settings(k=1), History(flowing=True))

    def allowed(**kind: bool) -> list[int]:
        return [symbol for symbol in range(END_ID + 1) if not writer.forbidden([], **kind)[symbol]]

    assert allowed() == [MORE_ID], "a sentence without words does not end"
    assert allowed(may_end=True) == [SEP_ID], "drafts wait for nobody"
    writer.target.add(subwords().encode_word("ka"))
    assert allowed() == [MORE_ID, SEP_ID]
    writer.must_write = True
    assert allowed() == []
    writer.must_write, writer.closing = False, END_ID
    assert allowed() == [SEP_ID, 5, END_ID]
    assert writer.forbidden([10])[: END_ID + 1].all(), "nor in a word"


def test_looking_back_gives_the_attention_of_each_word() -> None:
    model = fake_model(FreeEcho(), free=True)
    writer = FlowWriter(model, Settings(k=1), History(flowing=True))
    words = ["ka", "lenx", "miso", "ra"]
    for word in words:
        writer.source.add(subwords().encode_word(word))
    spelt = [run_steps(writer.write_word(), model.backend) for _ in words]
    assert spelt == words
    attention = run_steps(writer.look_back(), model.backend)
    # The echo looks at the first piece of the word that it copies.
    np.testing.assert_allclose(attention, np.eye(4), atol=1e-6)


def test_looking_back_is_by_the_last_layer_whatever_policies_look_at() -> None:
    class Layers(FreeEcho):
        """Has a first layer that looks nowhere."""

        def look(self, requests):  # type: ignore[no-untyped-def]
            found = super().look(requests)
            return [one._replace(attention=np.concatenate([0 * one.attention, one.attention])) for one in found]

    model = replace(fake_model(Layers(), free=True), attention=Attention(0, 0))
    writer = FlowWriter(model, Settings(k=1), History(flowing=True))
    writer.source.add(subwords().encode_word("ka"))
    run_steps(writer.write_word(), model.backend)
    np.testing.assert_allclose(run_steps(writer.look_back(), model.backend), [[1.0]], atol=1e-6)
