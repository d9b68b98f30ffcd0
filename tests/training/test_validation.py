"""What the figures of a validation are of."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.training.toy import toy_recipe
from turia.config import Recipe
from turia.corpus.batches import assemble
from turia.corpus.shards import CLOSES, OPENS, WINDOW, Shards
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.training.data import PreparedData, open_data
from turia.training.paths import MaskSettings, batch_limits
from turia.training.validation import documents, loss_with_history_and_alone, validate

K = 3
Toy = tuple[Recipe, PreparedData, Transformer, MaskSettings]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    recipe = toy_recipe(tmp_path_factory.mktemp("toy"))
    data = open_data(recipe)
    torch.manual_seed(3)
    source, target = data.subwords
    model = Transformer(shape_of(recipe.model, len(source), len(target), True)).eval()
    return recipe, data, model, MaskSettings(recipe.model.encoder, recipe.model.anchor, data.train.meta.gamma)


@torch.no_grad()
def label_losses(model: Transformer, dev: Shards, sample: int, policy: MaskSettings) -> torch.Tensor:
    """[T] of one sample, by itself."""
    batch = assemble(dev, np.array([sample]))
    reach, limit = batch_limits(batch, K, policy)
    target = torch.from_numpy(batch.target)
    states = model(torch.from_numpy(batch.source), reach, target[:, :-1], limit)
    return F.cross_entropy(model.logits(states[0]), target[0, 1:], reduction="none")


def test_with_history_and_alone_are_of_the_same_sentences(toy: Toy) -> None:
    _, data, model, policy = toy
    (dev,) = data.dev.values()
    single = {int(first): i for i, (first, _, flags) in enumerate(dev.samples) if not flags & WINDOW}
    behind, alone = [], []
    for i, (first, count, flags) in enumerate(dev.samples.tolist()):
        if flags & WINDOW and count > 1:
            own = label_losses(model, dev, single[first + count - 1], policy)
            alone.append(own)
            behind.append(label_losses(model, dev, i, policy)[-len(own) :])
    expected = [float(torch.cat(losses).mean()) for losses in (behind, alone)]
    assert abs(expected[0] - expected[1]) > 1e-4
    found = loss_with_history_and_alone(model, dev, policy, K, batches=0)
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_validation_names_them(toy: Toy) -> None:
    recipe, data, model, policy = toy
    validation = replace(recipe.validation, k=(1, K), batches=2, bleu_sentences=0)
    figures = validate(model, data.dev, data.subwords, policy, recipe.windows.history, validation)
    names = ["dev_loss", "dev_loss_k1", "dev_loss_k3", "dev_loss_last_k3", "dev_loss_single_k3"]
    assert list(figures) == names
    (dev,) = data.dev.values()
    pair = loss_with_history_and_alone(model, dev, policy, K, batches=2)
    assert (figures["dev_loss_last_k3"], figures["dev_loss_single_k3"]) == pytest.approx(pair)


def test_history_is_looked_at_where_it_is_asked_for(toy: Toy) -> None:
    recipe, data, model, policy = toy
    validation = replace(recipe.validation, k=(1,), history_k=(2, K), batches=2, bleu_sentences=0)
    figures = validate(model, data.dev, data.subwords, policy, recipe.windows.history, validation)
    (dev,) = data.dev.values()
    for k in (2, K):
        pair = loss_with_history_and_alone(model, dev, policy, k, batches=2)
        assert (figures[f"dev_loss_last_k{k}"], figures[f"dev_loss_single_k{k}"]) == pytest.approx(pair)
    assert figures["dev_loss_last_k2"] != figures["dev_loss_last_k3"]
    assert len(figures) == 6
    assert figures["dev_loss"] == figures["dev_loss_k1"]


@pytest.mark.parametrize("lost", [OPENS, CLOSES])
def test_documents_part_where_one_opens_or_one_closes(toy: Toy, lost: int) -> None:
    """The first or the last pair of a document may have been dropped."""
    dev = copy(next(iter(toy[1].dev.values())))
    whole = [len(document) for document in documents(dev, 10**6)]
    assert len(whole) > 1
    dev.samples = dev.samples & np.array([-1, -1, ~lost], dtype=np.int32)
    assert [len(document) for document in documents(dev, 10**6)] == whole
