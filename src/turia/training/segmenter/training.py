"""Trains a segmenter: corpora → samples → network → exported folder, all windows at once, in one run folder.

    run/data/                 the streams as memory-mapped ids
    run/newest.safetensors    after each epoch: where a killed run goes on
    run/best.safetensors, run/log.jsonl, run/recipe.json
    run/export/               what the online segmenter loads
    run/.lock                 held while a training is at work there

From the second epoch on a share of the samples has the network's own boundaries in its past, made by
rolling it out over stretches of the corpus: trained on true boundaries alone, it trusts them too much, and
loses up to a third of its F1 online. Dev scores are those of the network's own decisions too. To save time
each window is scored on its own part of dev during training, and on all of it at the end.

Letters: R rows of a rollout, L slots of a window.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from turia.config import SegmenterRecipe
from turia.corpus.boundaries import Indices, LabelledStream, Samples, hide_future
from turia.errors import ConfigError
from turia.schema import to_dict
from turia.segmenter.classifier import SegmenterSettings
from turia.segmenter.online import Decision
from turia.segmenter.window import PAST
from turia.system.files import replacing, write_file
from turia.system.locks import alone_in
from turia.text.vocabulary import BOUNDARY, Vocabulary
from turia.training.segmenter.calibration import Probabilities, falling_thresholds, shift_prior
from turia.training.segmenter.export import export
from turia.training.segmenter.learner import Learner
from turia.training.segmenter.network import Network, loss
from turia.training.segmenter.preparation import prepare
from turia.training.segmenter.rollout import Ask, own_samples, rollout
from turia.training.segmenter.scores import best_threshold, macro_f1, score

Progress = Callable[[float, str], None]
"""Share of the work done, and what is being done."""

ROW_WORDS = 500
"""Words of a row: long enough that its beginning does not count, short enough for many rows at once."""
_CALIBRATION_ROUNDS = 3
_FIRST_POSTERIOR = 0.3
"""The true probability that the first rollout takes for a boundary; best thresholds have come out near it."""


@dataclass(frozen=True)
class SegmenterReport:
    """What a training run gave, by window."""

    folder: Path
    f1: dict[int, float]
    """Boundary F1 on dev, of the network's own decisions."""
    thresholds: dict[int, float]


def train(
    recipe: SegmenterRecipe, progress: Progress = lambda share, detail: None, fresh: bool = False
) -> SegmenterReport:
    """Trains all windows of `recipe` and exports the best epoch to `recipe.run / "export"`.

    Goes on after the last finished epoch of the run folder, unless `fresh`.
    """
    with alone_in(recipe.run, "turia segmenter train", "finished epochs stay"):
        return _train(recipe, progress, fresh)


def _train(recipe: SegmenterRecipe, progress: Progress, fresh: bool) -> SegmenterReport:
    """As `train`, in a folder that nobody else writes into."""
    torch.manual_seed(recipe.seed)
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)
    newest = recipe.run / "newest.safetensors"
    if fresh:
        newest.unlink(missing_ok=True)

    progress(0.0, "reading the corpora")
    vocabulary = prepare(recipe, recipe.run / "data")
    future = max(recipe.model.windows)
    samples = Samples(LabelledStream.open(recipe.run / "data", "train"), PAST, future)
    dev = Samples(LabelledStream.open(recipe.run / "data", "dev"), PAST, future)
    network = Network(recipe.model, len(vocabulary))
    shares = Shares(samples, recipe)
    learner = Learner(network, recipe.training, recipe.seed, shares.first_threshold(recipe), made_with(recipe))
    if newest.is_file():
        learner.restore(newest)
    write_file(recipe.run / "recipe.json", json.dumps(to_dict(recipe), indent=1) + "\n")
    fit(learner, samples, dev, recipe, progress)

    progress(1.0, "exporting")
    network.load_state_dict(load_file(recipe.run / "best.safetensors"))
    return export_and_decide(network, vocabulary, dev, shares, recipe)


def made_with(recipe: SegmenterRecipe) -> dict[str, Any]:
    """What a run must share with an earlier one to go on from it: all but its length, its place and its threads."""
    parts: dict[str, Any] = json.loads(json.dumps(to_dict(recipe)))
    training = {name: value for name, value in parts["training"].items() if name not in ("epochs", "threads")}
    texts = {}
    for name in ("vocabulary.txt", "train.words.npy", "train.ends.npy", "dev.words.npy", "dev.ends.npy"):
        with (recipe.run / "data" / name).open("rb") as file:
            texts[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return {"seed": recipe.seed, "model": parts["model"], "training": training, "data": texts}


class Shares:
    """Of sentence ends: among the words of the corpus (`true`), and among the samples that are `drawn`."""

    def __init__(self, samples: Samples, recipe: SegmenterRecipe) -> None:
        self.true = len(samples.splits) / len(samples.indices)
        self.drawn = recipe.training.split_share + (1 - recipe.training.split_share) * self.true

    def first_threshold(self, recipe: SegmenterRecipe) -> float:
        """Where to begin before dev has been seen."""
        if recipe.training.decision == "argmax":
            return 0.5
        return float(shift_prior(np.array([_FIRST_POSTERIOR]), self.true, self.drawn)[0])


def fit(learner: Learner, samples: Samples, dev: Samples, recipe: SegmenterRecipe, progress: Progress) -> None:
    """Epochs of drawn samples; the weights with the best dev macro-F1, averaged over the windows, are kept."""
    settings, log = recipe.training, recipe.run / "log.jsonl"
    _rewind(log, learner.epochs)
    while learner.epochs < settings.epochs:
        mean_loss = run_epoch(learner, samples, recipe, progress)
        scores = dev_scores(learner.network, dev, learner.thresholds, settings.decision)
        mean = float(np.mean([of_window["macro_f1"] for of_window in scores.values()]))
        learner.epochs += 1
        line = {"epoch": learner.epochs, "loss": mean_loss, "rate": learner.rate, "macro_f1": mean, "dev": scores}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        learner.thresholds = {window: of_window["next_threshold"] for window, of_window in scores.items()}
        if mean > learner.best:
            learner.best = mean
            write_file(recipe.run / "best.safetensors", save(learner.network.state_dict()))
        learner.schedule.step(mean)
        learner.save(recipe.run / "newest.safetensors")


def run_epoch(learner: Learner, samples: Samples, recipe: SegmenterRecipe, progress: Progress) -> float:
    """One epoch of optimiser steps; gives the mean loss."""
    settings, network, rng = recipe.training, learner.network, learner.rng
    steps = max(1, settings.samples_per_epoch // settings.batch)
    of_own = round(settings.batch * settings.own_past) if learner.epochs > 0 else 0
    sources = [(samples, settings.batch - of_own)]
    if of_own:
        sources.append((own_past(network, samples, learner.thresholds, steps * of_own, rng), of_own))
    network.train()
    total = 0.0
    for step in range(steps):
        ids, labels = _batch(sources, settings.split_share, settings.hidden_future, rng)
        learner.optimiser.zero_grad(set_to_none=True)
        batch_loss = loss(network(ids), labels)
        batch_loss.backward()  # type: ignore[no-untyped-call]
        learner.optimiser.step()
        total += batch_loss.item()
        if not math.isfinite(total):
            raise ConfigError(
                f"training has diverged: the loss of epoch {learner.epochs + 1} is {total}; start over with a lower "
                f"training.learning_rate, and --fresh"
            )
        if step % 50 == 0:
            share = (learner.epochs + step / steps) / settings.epochs
            best = f" best dev macro-F1 {learner.best:.4f}" if learner.epochs else ""
            progress(share, f"epoch {learner.epochs + 1} loss {total / (step + 1):.4f}{best}")
    return total / steps


def _rewind(log: Path, epochs: int) -> None:
    """Drops what was logged after the first `epochs` epochs: it is about to be computed again."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    write_file(log, "".join(f"{line}\n" for line in lines[:epochs]))


def _batch(
    sources: list[tuple[Samples, int]], split_share: float, hidden_future: float, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """ids [B, L] and labels [B], so many from each of `sources`."""
    drawn = [(source, source.draw(size, split_share, rng)) for source, size in sources]
    ids = np.concatenate([source.ids(chosen) for source, chosen in drawn])
    labels = np.concatenate([source.labels(chosen) for source, chosen in drawn])
    return torch.from_numpy(hide_future(ids, PAST, hidden_future, rng)), torch.from_numpy(labels)


def own_past(
    network: Network, samples: Samples, thresholds: dict[int, float], words: int, rng: np.random.Generator
) -> Samples:
    """Samples of about `words` words whose past holds the network's own boundaries, its windows taking turns."""
    starts = rng.choice(samples.indices, max(1, words // ROW_WORDS))
    windows = np.resize(network.windows, len(starts))
    needed = np.array([thresholds[window] for window in windows])
    probabilities = rollout(samples, starts, ROW_WORDS, needed, _asker(network, windows))
    return own_samples(samples, starts, probabilities >= needed[:, None])


def dev_scores(
    network: Network, dev: Samples, thresholds: dict[int, float], decision: str
) -> dict[int, dict[str, float]]:
    """By window, each on its own rows: scores of what was decided, and the threshold that would have been best."""
    starts, length = _rows(dev, len(network.windows))
    windows = np.resize(network.windows, len(starts))
    needed = np.array([thresholds[window] for window in windows])
    probabilities = rollout(dev, starts, length, needed, _asker(network, windows))
    scores = {}
    for window in network.windows:
        given, expected = _spoken(dev, starts[windows == window], probabilities[windows == window])
        ends = given >= thresholds[window]
        best = best_threshold(given, expected) if decision == "calibrated" else 0.5
        scores[window] = {
            "macro_f1": macro_f1(ends, expected),
            "f1": score(ends, expected).f1,
            "threshold": thresholds[window],
            "next_threshold": best,
        }
    return scores


def export_and_decide(
    network: Network, vocabulary: Vocabulary, dev: Samples, shares: Shares, recipe: SegmenterRecipe
) -> SegmenterReport:
    """Chooses on dev how each window decides, and exports; the folder appears when it is complete."""
    decisions, f1 = {}, {}
    for window in network.windows:
        probabilities, threshold, f1[window] = decide(network, dev, window, shares, recipe)
        falling = falling_thresholds(probabilities, threshold, shares.drawn, shares.true)
        decisions[window] = Decision(round(threshold, 4), tuple(round(value, 4) for value in falling))
    folder = recipe.run / "export"
    with replacing(folder) as new:
        export(network, vocabulary, new)
        SegmenterSettings(recipe.language, len(vocabulary), decisions).save(new)
    return SegmenterReport(folder, f1, {window: decision.threshold for window, decision in decisions.items()})


def decide(
    network: Network, dev: Samples, window: int, shares: Shares, recipe: SegmenterRecipe
) -> tuple[Probabilities, float, float]:
    """The threshold with the best F1 of its own decisions on dev, with the probabilities seen, and that F1.

    Another threshold means another past and other probabilities, so the best one is looked for in a few
    rounds.
    """
    starts, length = _rows(dev)
    ask = _asker(network, np.full(len(starts), window))
    threshold = shares.first_threshold(recipe)
    rounds = []
    for _ in range(_CALIBRATION_ROUNDS if recipe.training.decision == "calibrated" else 1):
        rolled = rollout(dev, starts, length, np.full(len(starts), threshold), ask)
        probabilities, expected = _spoken(dev, starts, rolled)
        rounds.append((probabilities, threshold, score(probabilities >= threshold, expected).f1))
        threshold = best_threshold(probabilities, expected)
    return max(rounds, key=lambda made: made[2])


def _rows(dev: Samples, at_least: int = 1) -> tuple[Indices, int]:
    """[R] starts of rows that cover the whole stream, `at_least` so many of them, and their length."""
    first, last = int(dev.indices[0]), int(dev.indices[-1])
    length = min(ROW_WORDS, max(1, (last - first) // at_least))
    return np.arange(first, last + 1, length), length


def _spoken(dev: Samples, starts: Indices, probabilities: Probabilities) -> tuple[Probabilities, npt.NDArray[np.bool_]]:
    """Probabilities and true ends of the words of rows, without the padding between streams."""
    positions = starts[:, None] + np.arange(probabilities.shape[1])
    spoken = dev.words_at(positions) != BOUNDARY
    return probabilities[spoken], dev.ends_at(positions)[spoken]


def _asker(network: Network, windows: npt.NDArray[np.int64]) -> Ask:
    """The network in use, row r being asked by window `windows[r]`."""
    network.eval()
    rows_of = {int(window): np.flatnonzero(windows == window) for window in np.unique(windows)}

    def ask(ids: npt.NDArray[np.int64]) -> Probabilities:
        probabilities = np.empty(len(ids))
        for window, rows in rows_of.items():
            probabilities[rows] = network.probabilities(torch.from_numpy(ids[rows]), window).numpy()
        return probabilities

    return ask
