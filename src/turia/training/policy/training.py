"""`turia policy train`: from a model folder and a corpus to the same model with heads.

The run folder keeps `model`, the model with the graphs of this release, which give states; `alignments`, the word
alignments and the sum of what they were found in; and `heads`, the files that the export adds to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from turia.config import PolicyRecipe
from turia.corpus.sentence_pairs import SentencePair, sentence_pairs
from turia.engine.model import Model
from turia.errors import InputError, ModelError
from turia.export.again import export_model
from turia.policy.act import halting_head
from turia.policy.chunk import source_head, target_head
from turia.runtime.folder import WEIGHTS_FILE, read_sums
from turia.runtime.heads import HeadList, head_file
from turia.runtime.translator import Translator, find_model
from turia.text.counted import counted
from turia.training.policy.alignment import Links, align_once
from turia.training.policy.chunks import ChunkEnd, chunk_ends
from turia.training.policy.heads import (
    Perceptron,
    boundary_figures,
    halting_figures,
    stored_head,
    train_boundary_head,
    train_halting_head,
)
from turia.training.policy.states import (
    Labelled,
    Sample,
    lagged_states,
    lay_out_pair,
    source_states,
    target_states,
)

Show = Callable[[float, str], None]
LEAST_SENTENCES = 10
"""With fewer there is nothing to learn, or nothing to test it with."""


@dataclass(frozen=True)
class HeadFigures:
    """How good a head is on sentences that it did not learn from."""

    name: str
    samples: int
    figures: dict[str, float]

    def line(self) -> str:
        values = ", ".join(f"{name} {value:.3f}" for name, value in self.figures.items())
        return f"{self.name}: {values} (dev; learned from {self.samples:,} states)"


@dataclass(frozen=True)
class PolicyReport:
    """What was trained, and where it is."""

    folder: Path
    pairs: int
    """Whose words were aligned; 0 if no head needed it."""
    sentences: int
    heads: tuple[HeadFigures, ...]

    def lines(self) -> list[str]:
        learned = f"{self.sentences:,} sentence pairs learned from"
        aligned = f"{self.pairs:,} sentence pairs aligned, {self.sentences:,} of them learned from"
        return [aligned if self.pairs else learned, *(head.line() for head in self.heads)]


def train(recipe: PolicyRecipe, show: Show) -> PolicyReport:
    """Trains all heads of the recipe and writes the model folder that has them."""
    again, heads_folder = recipe.run / "model", recipe.run / "heads"
    recipe.run.mkdir(parents=True, exist_ok=True)
    export_model(_folder(recipe), again, heads=())
    model = Translator.load(again).model
    _check(model, again)
    show(0.0, "reading the corpus")
    pairs = sentence_pairs(
        recipe.train, model.languages, recipe.align_sentences, recipe.max_words, model.normalises, least_words=2
    )
    links: list[Links] = []
    if recipe.chunk.delays:
        show(0.02, f"aligning {len(pairs):,} sentence pairs")
        links = align_once(pairs, recipe.run / "alignments")
    show(0.3, "states")
    learner = _Learner(recipe, model, pairs, links, show)
    heads = learner.learn()
    heads_folder.mkdir(exist_ok=True)
    for name, head in heads.items():
        stored_head(head).save(heads_folder / head_file(name))
    listed = HeadList(read_sums(again)[WEIGHTS_FILE], {name: head.first.in_features for name, head in heads.items()})
    listed.save(heads_folder)
    export_model(again, recipe.export, heads=[heads_folder / name for name in listed.files()])
    # What does not fit is found here, and not by the first stream.
    Translator.load(recipe.export)
    show(1.0, counted(len(heads), "head"))
    return PolicyReport(recipe.export, len(links), learner.sentences, tuple(learner.figures))


def _folder(recipe: PolicyRecipe) -> Path:
    return find_model(recipe.model if "/" not in recipe.model else Path(recipe.model).expanduser())


def _check(model: Model, folder: Path) -> None:
    if model.anchor == "window":
        raise ModelError(
            f"{folder}: learned policies need masks that are anchored at the sentence; "
            "this model's count k in pieces of the window"
        )


class _Learner:
    """The heads of one recipe, one after the other."""

    def __init__(
        self, recipe: PolicyRecipe, model: Model, pairs: Sequence[SentencePair], links: Sequence[Links], show: Show
    ) -> None:
        self.recipe, self.model, self.show = recipe, model, show
        self.rng = np.random.default_rng(recipe.seed)
        self.figures: list[HeadFigures] = []
        drawn = self.rng.permutation(len(pairs))[: recipe.sentences]
        samples: list[Sample] = []
        ends: list[list[ChunkEnd]] = []
        for number in drawn.tolist():
            if (sample := lay_out_pair(pairs[number], model)) is not None:
                samples.append(sample)
                source, target = pairs[number]
                found = links[number] if links else []
                ends.append(chunk_ends(found, len(source), len(target), recipe.chunk.least_words))
        self.sentences = len(samples)
        if self.sentences < LEAST_SENTENCES:
            raise InputError(
                f"train has {self.sentences} sentence pairs that heads can learn from (2 to {recipe.max_words} words a "
                f"side); expected {LEAST_SENTENCES} or more"
            )
        # The last ones are for the figures.
        cut = len(samples) - max(1, round(recipe.training.dev_share * len(samples)))
        self.train, self.dev = (samples[:cut], ends[:cut]), (samples[cut:], ends[cut:])
        self._steps = 2 * len(recipe.chunk.delays) + len(recipe.act.lag_costs) + bool(recipe.act.lag_costs)
        self._done = 0

    def learn(self) -> dict[str, Perceptron]:
        """All heads by name."""
        heads: dict[str, Perceptron] = {}
        for delay in self.recipe.chunk.delays:
            parts = [source_states(self.model, *part, delay, self.rng) for part in (self.train, self.dev)]
            heads[source_head(delay)] = self._boundary(source_head(delay), *parts)
            parts = [target_states(self.model, *part, delay, self.rng) for part in (self.train, self.dev)]
            heads[target_head(delay)] = self._boundary(target_head(delay), *parts)
        return heads | self._halting()

    def _boundary(self, name: str, data: Labelled, dev: Labelled) -> Perceptron:
        if not len(data.states) or not len(dev.states):
            raise InputError(f"{name}: the sentences of train are too short; give longer ones, or a smaller delay")
        head = train_boundary_head(data, self.recipe.training, self.recipe.seed)
        self._finished(name, len(data.states), boundary_figures(head, dev))
        return head

    def _halting(self) -> dict[str, Perceptron]:
        act, heads = self.recipe.act, {}
        if not act.lag_costs:
            return {}
        data, dev = (
            lagged_states(self.model, samples, act.lags, act.words, self.rng) for samples, _ in (self.train, self.dev)
        )
        self._step("states under all lags")
        for lag_cost in act.lag_costs:
            name = halting_head(lag_cost)
            heads[name] = train_halting_head(data, lag_cost, self.recipe.training, self.recipe.seed)
            self._finished(name, len(data.states), halting_figures(heads[name], dev))
        return heads

    def _finished(self, name: str, samples: int, figures: dict[str, float]) -> None:
        self.figures.append(HeadFigures(name, samples, figures))
        self._step(name)

    def _step(self, what: str) -> None:
        self._done += 1
        self.show(0.3 + 0.69 * self._done / self._steps, what)
