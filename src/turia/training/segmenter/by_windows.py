"""Training of the networks that look at a window of ten past words (the paper's): one sample a word.

From the second epoch on a share of the samples has the network's own boundaries in its past, made by
rolling it out over stretches of the corpus: trained on true boundaries alone, it trusts them too much, and
loses up to a third of its F1 online. Dev scores are those of the network's own decisions too. To save time
each window is scored on its own part of dev during training, and on all of it at the end.

Letters: R rows of a rollout, L slots of a window.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from turia.config import SegmenterRecipe
from turia.corpus.boundaries import Indices, LabelledStream, Samples, hide_future
from turia.segmenter.window import PAST
from turia.text.vocabulary import BOUNDARY, Vocabulary
from turia.training.segmenter.calibration import Probabilities, shift_prior
from turia.training.segmenter.export import export
from turia.training.segmenter.learner import Learner
from turia.training.segmenter.network import Network, loss
from turia.training.segmenter.rollout import Ask, own_samples, rollout
from turia.training.segmenter.scores import best_threshold, macro_f1, score

ROW_WORDS = 500
"""Words of a row: long enough that its beginning does not count, short enough for many rows at once."""
_CALIBRATION_ROUNDS = 3
_FIRST_POSTERIOR = 0.3
"""The true probability that the first rollout takes for a boundary; best thresholds have come out near it."""


class WindowMethod:
    """What `training.py` asks for, with a `Network`."""

    def __init__(self, recipe: SegmenterRecipe, ids: int, train: LabelledStream, dev: LabelledStream) -> None:
        self.settings, self.network = recipe.training, Network(recipe.model, ids)
        future = max(recipe.model.windows)
        self._samples, self._dev = Samples(train, PAST, future), Samples(dev, PAST, future)
        self.true_share = len(self._samples.splits) / len(self._samples.indices)
        """Of sentence ends among the words of the corpus."""
        self.drawn_share = self.settings.split_share + (1 - self.settings.split_share) * self.true_share
        """Of sentence ends among the samples that are drawn."""
        self._sources: list[tuple[Samples, int]] = []

    @property
    def first_threshold(self) -> float:
        """Where to begin before dev has been seen."""
        if self.settings.decision == "argmax":
            return 0.5
        return float(shift_prior(np.array([_FIRST_POSTERIOR]), self.true_share, self.drawn_share)[0])

    @property
    def steps(self) -> int:
        return max(1, self.settings.samples_per_epoch // self.settings.batch)

    def begin_epoch(self, learner: Learner) -> None:
        """Makes the samples with the network's own past."""
        of_own = round(self.settings.batch * self.settings.own_past) if learner.epochs > 0 else 0
        self._sources = [(self._samples, self.settings.batch - of_own)]
        if of_own:
            words = self.steps * of_own
            made = own_past(self.network, self._samples, learner.thresholds, words, learner.rng)
            self._sources.append((made, of_own))

    def loss(self, learner: Learner) -> Tensor:
        """Cross-entropy [] of one batch."""
        ids, labels = _batch(self._sources, self.settings.split_share, self.settings.hidden_future, learner.rng)
        return loss(self.network(ids), labels)

    def dev_scores(self, learner: Learner) -> dict[int, dict[str, float]]:
        return dev_scores(self.network, self._dev, learner.thresholds, self.settings.decision)

    def decide(self, window: int) -> tuple[Probabilities, float, float]:
        """The threshold with the best F1 of its own decisions on dev, with the probabilities seen, and that F1.

        Another threshold means another past and other probabilities, so the best one is looked for in a few
        rounds.
        """
        starts, length = _rows(self._dev)
        ask = _asker(self.network, np.full(len(starts), window))
        threshold = self.first_threshold
        rounds = []
        for _ in range(_CALIBRATION_ROUNDS if self.settings.decision == "calibrated" else 1):
            rolled = rollout(self._dev, starts, length, np.full(len(starts), threshold), ask)
            probabilities, expected = _spoken(self._dev, starts, rolled)
            rounds.append((probabilities, threshold, score(probabilities >= threshold, expected).f1))
            threshold = best_threshold(probabilities, expected)
        return max(rounds, key=lambda made: made[2])

    def export(self, vocabulary: Vocabulary, folder: Path) -> None:
        """Writes all but the settings."""
        export(self.network, vocabulary, folder)


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
