"""`training.last_sentence_weight`: what a step learns from the last sentences of its windows, and from the others."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tests.training.toy import toy_recipe
from turia.corpus.batches import Batch
from turia.training.data import open_data
from turia.training.distributed import Ranks
from turia.training.loop import Trainer
from turia.training.paths import batch_limits

K, WEIGHT = 3, 2.5


class Watched(Trainer):
    """Keeps the batches that it learns from."""

    def _batch(self, *given: object) -> Batch:
        batch = super()._batch(*given)  # type: ignore[arg-type]
        self.batches = [*getattr(self, "batches", []), batch]
        return batch


def begun(folder: Path, **training: object) -> Watched:
    recipe = toy_recipe(
        folder, steps=9, k_range=(K, K), dropout=0.0, label_smoothing=0.0, windows_from=0.0, clip=0.0, **training
    )
    recipe = replace(recipe, windows=replace(recipe.windows, sentences_per_window=0.5))
    return Watched(recipe, open_data(recipe), Ranks(0, 1, torch.device("cpu")), lambda _: None, fresh=False)


@pytest.mark.parametrize(
    "training", [{"accumulate": 3}, {"accumulate": 1, "free_share": 1.0, "prefix_share": 0.7}], ids=["whole", "cut"]
)
def test_a_step_learns_the_weighted_mean_of_its_labels(tmp_path: Path, training: dict[str, object]) -> None:
    trainer = begun(tmp_path, last_sentence_weight=WEIGHT, **training)
    model = deepcopy(trainer.model)
    total, labels = trainer._step()
    losses, weights = [], []
    for batch in trainer.batches:
        reach, limit = batch_limits(batch, K, trainer.policy)
        target = torch.from_numpy(batch.target)
        states = model(torch.from_numpy(batch.source), reach, target[:, :-1], limit)
        for rows, of_sample, wanted in zip(batch.rows, model.logits(states), target[:, 1:], strict=True):
            count, last = len(rows.word), rows.sentence[-1]
            losses.append(F.cross_entropy(of_sample[:count], wanted[:count], reduction="none"))
            weights += [WEIGHT if last > 0 and sentence == last else 1.0 for sentence in rows.sentence]
    assert {1.0, WEIGHT} == set(weights)
    weight = torch.tensor(weights)
    expected = (torch.cat(losses) * weight).sum() / weight.sum()
    assert total / labels == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()  # type: ignore[no-untyped-call]
    for mine, by_hand in zip(trainer.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, by_hand.grad, atol=1e-6, rtol=1e-4)
