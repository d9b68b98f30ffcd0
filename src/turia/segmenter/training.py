"""Trains a segmenter: corpora → samples → network → exported folder, all windows at once, in one run folder.

    run/data/       the streams as memory-mapped ids
    run/best.safetensors, run/log.jsonl, run/recipe.json
    run/export/     what the online segmenter loads

Samples are drawn with far more sentence ends than a stream has, so the network's probabilities are too
high, and taking the likelier class (argmax) splits too often. The threshold is therefore chosen on the dev
set, for the best F1 of the boundaries, from the probabilities of the exported classifier.

Dev scores of the training log are teacher-forced: the past boundaries are the true ones. What the segmenter
does with its own boundaries is measured online (segmenter/evaluation.py).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch.optim.lr_scheduler import ReduceLROnPlateau

from turia.config import Corpus, SegmenterRecipe, to_dict
from turia.corpus.boundaries import (
    Samples,
    Stream,
    hide_future,
    monolingual_texts,
    parallel_texts,
    word_stream,
)
from turia.errors import InputError
from turia.segmenter.classifier import Classifier, Settings
from turia.segmenter.export import export
from turia.segmenter.network import Network, loss
from turia.segmenter.online import Decision
from turia.segmenter.scores import best_threshold, macro_f1, score
from turia.segmenter.window import PAST
from turia.text.vocabulary import Vocabulary

Progress = Callable[[float, str], None]
"""Share of the work done, and what is being done."""

Probabilities = npt.NDArray[np.float64]
_EVALUATION_BATCH = 2048


@dataclass(frozen=True)
class Report:
    """What a training run gave, by window."""

    folder: Path
    f1: dict[int, float]
    """Boundary F1 on dev, teacher-forced, at the decision that was exported."""
    thresholds: dict[int, float]


def train(recipe: SegmenterRecipe, progress: Progress = lambda share, detail: None) -> Report:
    """Trains all windows of `recipe` and exports the best epoch to `recipe.run / "export"`."""
    torch.manual_seed(recipe.seed)
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)
    recipe.run.mkdir(parents=True, exist_ok=True)
    (recipe.run / "recipe.json").write_text(json.dumps(to_dict(recipe), indent=1) + "\n", encoding="utf-8")

    progress(0.0, "reading the corpora")
    vocabulary = prepare(recipe, recipe.run / "data")
    future = max(recipe.model.windows)
    samples = Samples(Stream.open(recipe.run / "data", "train"), PAST, future)
    dev = Samples(Stream.open(recipe.run / "data", "dev"), PAST, future)
    network = Network(recipe.model, len(vocabulary))
    _fit(network, samples, dev, recipe, progress)

    progress(1.0, "exporting")
    network.load_state_dict(load_file(recipe.run / "best.safetensors"))
    true_share = len(samples.splits) / len(samples.indices)
    return export_and_decide(network.eval(), vocabulary, dev, recipe, true_share)


def prepare(recipe: SegmenterRecipe, folder: Path) -> Vocabulary:
    """Writes the streams `train` and `dev` in ids of a vocabulary learned on `train`, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    finished, vocabulary_path = folder / "finished.json", folder / "vocabulary.txt"
    made_from = _made_from(recipe)
    if finished.is_file() and finished.read_text(encoding="utf-8") == made_from:
        return Vocabulary.load(vocabulary_path)
    finished.unlink(missing_ok=True)
    pad = max(PAST, *recipe.model.windows)
    words = word_stream(_train_texts(recipe), pad)
    if not words.ends.any():
        raise InputError(f"the training corpora hold no sentence in {recipe.language!r}")
    vocabulary = Vocabulary.learn(words.counts(), recipe.model.vocabulary)
    words.encode(vocabulary).save(folder, "train")
    dev = word_stream(_parallel(recipe.data.dev, recipe.language), pad)
    if not dev.ends.any():
        raise InputError(f"the dev corpora hold no sentence in {recipe.language!r}")
    dev.encode(vocabulary).save(folder, "dev")
    vocabulary.save(vocabulary_path)
    # Written last: an interrupted run leaves nothing that looks complete.
    finished.write_text(made_from, encoding="utf-8")
    return vocabulary


def _made_from(recipe: SegmenterRecipe) -> str:
    """All that decides what `prepare` writes: the recipe's part in it, and the corpora's sizes and times."""
    corpora = (*recipe.data.train, *recipe.data.dev)
    paths = [path for corpus in corpora for path in (corpus.path, corpus.source) if path is not None]
    files = {str(path): path.stat() for path in (*paths, *recipe.data.monolingual) if path.is_file()}
    parts = {
        "language": recipe.language,
        "data": to_dict(recipe.data),
        "vocabulary": recipe.model.vocabulary,
        "windows": list(recipe.model.windows),
        "files": {name: [status.st_size, status.st_mtime_ns] for name, status in files.items()},
    }
    return json.dumps(parts, indent=1)


def _train_texts(recipe: SegmenterRecipe) -> Iterator[list[list[str]]]:
    yield from _parallel(recipe.data.train, recipe.language)
    for path in recipe.data.monolingual:
        yield from monolingual_texts(path, recipe.language)


def _parallel(corpora: tuple[Corpus, ...], language: str) -> Iterator[list[list[str]]]:
    for corpus in corpora:
        for _ in range(corpus.repeat):
            yield from parallel_texts(corpus, language)


def _fit(network: Network, samples: Samples, dev: Samples, recipe: SegmenterRecipe, progress: Progress) -> None:
    """Epochs of drawn samples; the weights with the best dev macro-F1, averaged over the windows, are kept."""
    settings = recipe.training
    rng = np.random.default_rng(recipe.seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    schedule = ReduceLROnPlateau(optimiser, mode="max", factor=0.5, patience=settings.patience, threshold=0.0)
    steps = max(1, settings.samples_per_epoch // settings.batch)
    best = -1.0
    with (recipe.run / "log.jsonl").open("w", encoding="utf-8") as log:
        for epoch in range(settings.epochs):
            network.train()
            total = 0.0
            for step in range(steps):
                chosen = samples.draw(settings.batch, settings.split_share, rng)
                ids = hide_future(samples.ids(chosen), PAST, settings.hidden_future, rng)
                optimiser.zero_grad(set_to_none=True)
                batch_loss = loss(network(torch.from_numpy(ids)), torch.from_numpy(samples.labels(chosen)))
                batch_loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += batch_loss.item()
                if step % 50 == 0:
                    share = (epoch + step / steps) / settings.epochs
                    progress(share, f"epoch {epoch + 1} loss {total / (step + 1):.4f} best dev macro-F1 {best:.4f}")
            dev_scores = _dev_scores(network, dev, settings.decision)
            mean = float(np.mean([of_window["macro_f1"] for of_window in dev_scores.values()]))
            rate = optimiser.param_groups[0]["lr"]
            line = {
                "epoch": epoch + 1,
                "loss": total / steps,
                "rate": rate,
                "macro_f1": mean,
                "dev": dev_scores,
            }
            log.write(json.dumps(line) + "\n")
            log.flush()
            if mean > best:
                best = mean
                save_file(network.state_dict(), recipe.run / "best.safetensors")
            schedule.step(mean)


def _dev_scores(network: Network, dev: Samples, decision: str) -> dict[int, dict[str, float]]:
    """Teacher-forced scores by window."""
    network.eval()
    found: dict[int, list[npt.NDArray[np.float32]]] = {window: [] for window in network.windows}
    with torch.inference_mode():
        for start in range(0, len(dev.indices), _EVALUATION_BATCH):
            ids = dev.ids(dev.indices[start : start + _EVALUATION_BATCH])
            for window, logits in network(torch.from_numpy(ids)).items():
                found[window].append(logits.softmax(dim=1)[:, 1].numpy())
    expected = dev.labels(dev.indices).astype(np.bool_)
    scores = {}
    for window, parts in found.items():
        probabilities = np.concatenate(parts).astype(np.float64)
        threshold = _threshold(probabilities, expected, decision)
        ends = probabilities >= threshold
        scores[window] = {
            "macro_f1": macro_f1(ends, expected),
            "f1": score(ends, expected).f1,
            "threshold": threshold,
        }
    return scores


def _threshold(probabilities: Probabilities, expected: npt.NDArray[np.bool_], decision: str) -> float:
    return best_threshold(probabilities, expected) if decision == "calibrated" else 0.5


def export_and_decide(
    network: Network, vocabulary: Vocabulary, dev: Samples, recipe: SegmenterRecipe, true_share: float
) -> Report:
    """Exports, and chooses on dev how each window decides; the folder appears when it is complete."""
    folder, partial = recipe.run / "export", recipe.run / "export.partial"
    for old in (partial, folder):
        if old.exists():
            shutil.rmtree(old)
    export(network, vocabulary, partial)
    # The classifiers need settings to be loaded; these are replaced below.
    Settings(recipe.language, len(vocabulary), dict.fromkeys(network.windows, Decision())).save(partial)
    expected = dev.labels(dev.indices).astype(np.bool_)
    drawn_share = recipe.training.split_share + (1 - recipe.training.split_share) * true_share
    decisions, f1 = {}, {}
    for window in network.windows:
        probabilities = teacher_forced(Classifier(partial, window), dev)
        threshold = round(_threshold(probabilities, expected, recipe.training.decision), 4)
        falling = falling_thresholds(probabilities, threshold, drawn_share, true_share)
        decisions[window] = Decision(threshold, tuple(round(value, 4) for value in falling))
        f1[window] = score(probabilities >= threshold, expected).f1
    Settings(recipe.language, len(vocabulary), decisions).save(partial)
    partial.rename(folder)
    thresholds = {window: decision.threshold for window, decision in decisions.items()}
    return Report(folder, f1, thresholds)


def teacher_forced(classifier: Classifier, samples: Samples) -> Probabilities:
    """The exported classifier's probability at every word of a stream whose past boundaries are the true ones."""
    length = PAST + 1 + classifier.window
    parts = [
        classifier.probabilities(samples.ids(samples.indices[start : start + _EVALUATION_BATCH])[:, :length])
        for start in range(0, len(samples.indices), _EVALUATION_BATCH)
    ]
    return np.concatenate(parts).astype(np.float64)


def falling_thresholds(
    probabilities: Probabilities, threshold: float, drawn_share: float, true_share: float
) -> tuple[float, ...]:
    """What suffices for a forced split with m = 0, 1, 2, ... words left before the limit, until `threshold`
    suffices.

    One split has to be made within the next m + 1 words, and each can only be taken as it passes. Taking
    word i is right with probability q_i; going on is worth v_m = E[max(q, v_{m-1})], v_0 = 0, for words
    like those of dev. So the word is taken if q >= v_m: the rule with the greatest chance to hit a true
    boundary (optimal stopping, Cayley-Moser). q is the network's probability corrected for the share of
    ends among the drawn samples.
    """
    true = shift_prior(probabilities, drawn_share, true_share)
    values = [0.0]
    falling = [0.0]
    while True:
        values.append(float(np.maximum(true, values[-1]).mean()))
        as_given = float(shift_prior(np.array([values[-1]]), true_share, drawn_share)[0])
        if as_given >= threshold or values[-1] <= values[-2]:
            return tuple(falling)
        falling.append(as_given)


def shift_prior(probabilities: Probabilities, drawn: float, true: float) -> Probabilities:
    """Probabilities learned where a share `drawn` of samples were ends, for a stream where `true` of the words are."""
    ends = probabilities * true / drawn
    goes_on = (1 - probabilities) * (1 - true) / (1 - drawn)
    return ends / (ends + goes_on)
