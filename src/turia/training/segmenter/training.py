"""Trains a segmenter: corpora → samples → network → exported folder, all windows at once, in one run folder.

    run/data/                 the streams as memory-mapped ids
    run/newest.safetensors    after each epoch: where a killed run goes on
    run/best.safetensors, run/log.jsonl, run/recipe.json
    run/export/               what the online segmenter loads
    run/.lock                 held while a training is at work there

What depends on the kind of network is in by_windows.py and by_stream.py.
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
import torch
from safetensors.torch import load_file, save

from turia.config import SegmenterRecipe
from turia.corpus.boundaries import LabelledStream
from turia.errors import ConfigError
from turia.schema import to_dict
from turia.segmenter.classifier import SegmenterSettings
from turia.segmenter.online import Decision
from turia.system.files import replacing, write_file
from turia.system.locks import alone_in
from turia.text.vocabulary import Vocabulary
from turia.training.segmenter.by_stream import StreamMethod
from turia.training.segmenter.by_windows import WindowMethod
from turia.training.segmenter.calibration import falling_thresholds
from turia.training.segmenter.learner import Learner
from turia.training.segmenter.preparation import prepare

Method = WindowMethod | StreamMethod
Progress = Callable[[float, str], None]
"""Share of the work done, and what is being done."""


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
    train_text, dev = (LabelledStream.open(recipe.run / "data", name) for name in ("train", "dev"))
    kind = StreamMethod if recipe.model.network == "stream" else WindowMethod
    method: Method = kind(recipe, len(vocabulary), train_text, dev)
    learner = Learner(method.network, recipe.training, recipe.seed, method.first_threshold, made_with(recipe))
    if newest.is_file():
        learner.restore(newest)
    write_file(recipe.run / "recipe.json", json.dumps(to_dict(recipe), indent=1) + "\n")
    fit(learner, method, recipe, progress)

    progress(1.0, "exporting")
    method.network.load_state_dict(load_file(recipe.run / "best.safetensors"))
    return export_and_decide(method, vocabulary, recipe)


def made_with(recipe: SegmenterRecipe) -> dict[str, Any]:
    """What a run must share with an earlier one to go on from it: all but its length, its place and its threads."""
    parts: dict[str, Any] = json.loads(json.dumps(to_dict(recipe)))
    training = {name: value for name, value in parts["training"].items() if name not in ("epochs", "threads")}
    texts = {}
    for name in ("vocabulary.txt", "train.words.npy", "train.ends.npy", "dev.words.npy", "dev.ends.npy"):
        with (recipe.run / "data" / name).open("rb") as file:
            texts[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return {"seed": recipe.seed, "model": parts["model"], "training": training, "data": texts}


def fit(learner: Learner, method: Method, recipe: SegmenterRecipe, progress: Progress) -> None:
    """Epochs of drawn samples; the weights with the best dev macro-F1, averaged over the windows, are kept."""
    settings, log = recipe.training, recipe.run / "log.jsonl"
    _rewind(log, learner.epochs)
    while learner.epochs < settings.epochs:
        mean_loss = run_epoch(learner, method, settings.epochs, progress)
        scores = method.dev_scores(learner)
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


def run_epoch(learner: Learner, method: Method, epochs: int, progress: Progress) -> float:
    """One epoch of optimiser steps; gives the mean loss."""
    method.begin_epoch(learner)
    learner.network.train()
    total = 0.0
    for step in range(method.steps):
        learner.optimiser.zero_grad(set_to_none=True)
        batch_loss = method.loss(learner)
        batch_loss.backward()  # type: ignore[no-untyped-call]
        learner.optimiser.step()
        total += batch_loss.item()
        if not math.isfinite(total):
            raise ConfigError(
                f"training has diverged: the loss of epoch {learner.epochs + 1} is {total}; start over with a lower "
                f"training.learning_rate, and --fresh"
            )
        if step % 50 == 0:
            share = (learner.epochs + step / method.steps) / epochs
            best = f" best dev macro-F1 {learner.best:.4f}" if learner.epochs else ""
            progress(share, f"epoch {learner.epochs + 1} loss {total / (step + 1):.4f}{best}")
    return total / method.steps


def _rewind(log: Path, epochs: int) -> None:
    """Drops what was logged after the first `epochs` epochs: it is about to be computed again."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    write_file(log, "".join(f"{line}\n" for line in lines[:epochs]))


def export_and_decide(method: Method, vocabulary: Vocabulary, recipe: SegmenterRecipe) -> SegmenterReport:
    """Chooses on dev how each window decides, and exports; the folder appears when it is complete."""
    decisions, f1 = {}, {}
    for window in method.network.windows:
        probabilities, threshold, f1[window] = method.decide(window)
        falling = falling_thresholds(probabilities, threshold, method.drawn_share, method.true_share)
        decisions[window] = Decision(round(threshold, 4), tuple(round(value, 4) for value in falling))
    folder = recipe.run / "export"
    with replacing(folder) as new:
        stream = method.export(vocabulary, new)
        SegmenterSettings(recipe.language, len(vocabulary), decisions, stream).save(new)
    return SegmenterReport(folder, f1, {window: decision.threshold for window, decision in decisions.items()})
