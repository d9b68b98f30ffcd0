"""Training of the network that reads a stream once: every word of a stretch of text is a sample, for every window.

A row begins at a sentence, behind a boundary symbol, as a stream does at its start and after a pause. Decisions are not
read, so nothing has to be rolled out, and the share of sentence ends is the true one.

Letters: R rows, T words of a row, V ids, E embedding, H hidden, F feed-forward.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from turia.config import SegmenterModel, SegmenterRecipe
from turia.corpus.boundaries import Indices, LabelledStream
from turia.errors import InputError
from turia.segmenter.classifier import VOCABULARY_FILE, WEIGHTS_FILE
from turia.segmenter.stream_network import StreamNetwork, StreamShape, quantise_rows
from turia.text.vocabulary import BOUNDARY, Vocabulary
from turia.training.segmenter.calibration import Probabilities
from turia.training.segmenter.learner import Learner
from turia.training.segmenter.network import SegmenterNetwork
from turia.training.segmenter.scores import best_threshold, macro_f1, score

ROW_WORDS = 100
"""Of a row in training: five sentences."""
FALLING = 0.6
"""Share of the epochs in which the learning rate falls."""
_DEV_WORDS = 5_000
"""Words that are read at once on dev; their states, five of them side by side, take 25 MB."""


class StreamTagger(SegmenterNetwork):
    """Logits of a sentence end for every word and every w from 0 to the widest window."""

    def __init__(self, model: SegmenterModel, ids: int) -> None:
        super().__init__()
        self.windows = tuple(range(max(model.windows) + 1))
        self.embedding = nn.Embedding(ids, model.embedding)
        nn.init.normal_(self.embedding.weight, 0.0, 0.3)
        self.dropout = nn.Dropout(model.dropout)
        self.gru = nn.GRU(model.embedding, model.hidden, batch_first=True)
        self.outputs = nn.ModuleList(
            nn.Sequential(
                nn.Linear((w + 1) * model.hidden, model.feed_forward), nn.ReLU(), nn.Linear(model.feed_forward, 1)
            )
            for w in self.windows
        )

    def forward(self, ids: Tensor) -> list[Tensor]:
        """ids [R, 1 + T], a boundary first → for each w, logits [R, T - w] of words that have w words after them."""
        states, _ = self.gru(self.dropout(self.embedding(ids)))
        states = self.dropout(states[:, 1:])
        return [self.logits(states, w) for w in self.windows]

    def logits(self, states: Tensor, w: int) -> Tensor:
        """states [R, T, H] → [R, T - w]; none, if there are fewer words."""
        count = max(0, states.shape[1] - w)
        seen = torch.cat([states[:, ahead : ahead + count] for ahead in range(w + 1)], dim=2)
        result: Tensor = self.outputs[w](seen).squeeze(2)
        return result

    @torch.inference_mode()
    def probabilities(self, ids: Tensor) -> list[npt.NDArray[np.float64]]:
        """ids [1 + T] of one stream → for each w, [T - w] of a sentence end, without dropout."""
        states, state = self.gru(self.embedding(ids[None, :1]))
        found: list[list[Tensor]] = [[] for _ in self.windows]
        waiting = states[:, :0]  # of the last words, which some windows have not answered
        for part in torch.split(ids[1:], _DEV_WORDS):
            states, state = self.gru(self.embedding(part[None]), state)
            known = torch.cat((waiting, states), dim=1)
            for w, of_window in enumerate(found):
                of_window.append(self.logits(known[:, max(0, waiting.shape[1] - w) :], w)[0])
            waiting = known[:, max(0, known.shape[1] - self.windows[-1]) :]
        return [torch.cat(of_window).sigmoid().double().numpy() for of_window in found]


class StreamMethod:
    """What `training.py` asks for, with a `StreamTagger`."""

    def __init__(self, recipe: SegmenterRecipe, ids: int, train: LabelledStream, dev: LabelledStream) -> None:
        self.settings, self.network = recipe.training, StreamTagger(recipe.model, ids)
        self._words, self._ends = train.words, train.ends
        self._starts = sentence_starts(train)
        self._dev = [(dev.words[first:last], dev.ends[first:last]) for first, last in texts(dev)]
        widest = self.network.windows[-1]
        if all(len(words) <= widest for words, _ in self._dev):
            raise InputError(f"the dev corpora hold no text of more than {widest} words, the widest window")
        self.drawn_share = self.true_share = float(train.ends.sum() / (train.words != BOUNDARY).sum())

    @property
    def first_threshold(self) -> float:
        return 0.5

    @property
    def steps(self) -> int:
        return max(1, self.settings.samples_per_epoch // (self.rows * ROW_WORDS))

    @property
    def rows(self) -> int:
        return max(1, self.settings.batch // ROW_WORDS)

    def begin_epoch(self, learner: Learner) -> None:
        """The rate falls in the last epochs, evenly; on dev it would be seen too late, as few epochs are enough."""
        left = 1 - learner.epochs / self.settings.epochs
        for group in learner.optimiser.param_groups:
            group["lr"] = self.settings.learning_rate * min(1.0, left / FALLING)

    def loss(self, learner: Learner) -> Tensor:
        """Cross-entropy [] of one batch, averaged over the windows."""
        ids, ends = self._batch(learner.rng)
        spoken = ids[:, 1:] != BOUNDARY
        losses = []
        for w, logits in enumerate(self.network(ids)):
            # A word counts if all w words after it are there: behind the end of a text is padding.
            counted = spoken[:, w:] & spoken[:, : logits.shape[1]]
            of_window = nn.functional.binary_cross_entropy_with_logits(
                logits, ends[:, : logits.shape[1]], weight=counted.float(), reduction="sum"
            )
            losses.append(of_window / counted.sum().clamp(min=1))
        return torch.stack(losses).mean()

    def dev_scores(self, learner: Learner) -> dict[int, dict[str, float]]:
        """By window, on all of dev: the threshold with the best F1, and scores with it."""
        scores = {}
        for window, (probabilities, expected) in enumerate(self._on_dev()):
            threshold = self._threshold(probabilities, expected)
            ends = probabilities >= threshold
            scores[window] = {
                "macro_f1": macro_f1(ends, expected),
                "f1": score(ends, expected).f1,
                "threshold": threshold,
                "next_threshold": threshold,
            }
        return scores

    def decide(self, window: int) -> tuple[Probabilities, float, float]:
        """The threshold with the best F1 on dev, with the probabilities seen, and that F1."""
        probabilities, expected = self._on_dev()[window]
        threshold = self._threshold(probabilities, expected)
        return probabilities, threshold, score(probabilities >= threshold, expected).f1

    def export(self, vocabulary: Vocabulary, folder: Path) -> StreamShape:
        """Writes all but the settings; gives the sizes that they name."""
        folder.mkdir(parents=True, exist_ok=True)
        vocabulary.save(folder / VOCABULARY_FILE)
        network = exported(self.network)
        network.save(folder / WEIGHTS_FILE)
        return network.shape

    def _threshold(self, probabilities: Probabilities, expected: npt.NDArray[np.bool_]) -> float:
        if self.settings.decision == "argmax":
            return 0.5
        threshold = best_threshold(probabilities, expected)
        # Half-way to the next word: exported, the network is rounded a little.
        below = probabilities[probabilities < threshold]
        return (threshold + float(below.max())) / 2 if below.size else threshold

    def _batch(self, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """ids [R, 1 + T] and whether a sentence ends at each word [R, T]."""
        positions = rng.choice(self._starts, self.rows)[:, None] + np.arange(ROW_WORDS)
        inside = np.minimum(positions, len(self._words) - 1)
        ids = np.full((self.rows, 1 + ROW_WORDS), BOUNDARY, dtype=np.int64)
        ids[:, 1:] = self._words[inside]
        return torch.from_numpy(ids), torch.from_numpy(self._ends[inside].astype(np.float32))

    def _on_dev(self) -> list[tuple[Probabilities, npt.NDArray[np.bool_]]]:
        """For each window: probabilities of the words of dev, and whether sentences end there."""
        self.network.eval()
        found = [
            self.network.probabilities(torch.from_numpy(np.append(BOUNDARY, words).astype(np.int64)))
            for words, _ in self._dev
        ]
        return [
            (
                np.concatenate([of_text[w] for of_text in found]),
                np.concatenate([ends[: max(0, len(ends) - w)] for _, ends in self._dev]),
            )
            for w in self.network.windows
        ]


def texts(stream: LabelledStream) -> list[tuple[int, int]]:
    """Where the texts between the padding begin and end."""
    spoken = np.concatenate(([False], stream.words != BOUNDARY, [False])).astype(np.int8)
    edges = np.flatnonzero(np.diff(spoken))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def sentence_starts(stream: LabelledStream) -> Indices:
    """Where sentences begin: after the end of one, or after padding."""
    spoken = stream.words != BOUNDARY
    before_ended = np.concatenate(([True], stream.ends[:-1] | ~spoken[:-1]))
    return np.flatnonzero(spoken & before_ended)


def exported(network: StreamTagger) -> StreamNetwork:
    """The same network in numpy."""
    table, scale = quantise_rows(network.embedding.weight.detach().numpy())
    weights: dict[str, npt.NDArray[np.float32] | npt.NDArray[np.int8]] = {"embedding": table, "scale": scale[:, 0]}
    names = {"input": "weight_ih_l0", "input_bias": "bias_ih_l0", "state": "weight_hh_l0", "state_bias": "bias_hh_l0"}
    weights |= {name: getattr(network.gru, of_torch).detach().numpy() for name, of_torch in names.items()}
    for w, output in enumerate(network.outputs):
        assert isinstance(output, nn.Sequential)
        first, _, second = output
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        weights |= {
            f"first{w}": first.weight.detach().numpy(),
            f"first_bias{w}": first.bias.detach().numpy(),
            f"second{w}": second.weight.detach().numpy()[0],
            f"second_bias{w}": second.bias.detach().numpy(),
        }
    inner = int(network.outputs[0][0].out_features)  # type: ignore[index]
    shape = StreamShape(network.embedding.embedding_dim, network.gru.hidden_size, inner, max(network.windows))
    return StreamNetwork(shape, weights)
