"""Recipes of `turia policy train`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from turia.config.corpus import Corpus
from turia.errors import ConfigError
from turia.schema import AboveZero, BelowOne, Natural, NotNegative, Positive


@dataclass(frozen=True)
class ChunkHeads:
    """Heads of the policy `chunk`."""

    delays: tuple[Natural, ...] = (2,)
    """Words that are read after the end of a chunk before it is decided; heads for each."""
    least_words: Positive = 1
    """Of a chunk, on either side."""


@dataclass(frozen=True)
class ActHeads:
    """Heads of the policy `act`."""

    lag_costs: tuple[NotNegative, ...] = (0.05, 0.1, 0.2)
    """What a word of lag costs, in nats (lambda); a head for each."""
    lags: tuple[Positive, ...] = (1, 2, 3, 4, 6, 8, 12, 20)
    """Lags in words at which the loss of each target word is looked at, beside that of the whole sentence."""
    words: Positive = 12
    """Target words of each sentence that are learned from, drawn at random: the states of all would fill the memory."""

    def __post_init__(self) -> None:
        if list(self.lags) != sorted(set(self.lags)) or not self.lags:
            raise ConfigError(f"lags is {list(self.lags)}, expected growing numbers")


@dataclass(frozen=True)
class HeadTraining:
    """The perceptrons and their optimiser."""

    hidden: Positive = 64
    epochs: Positive = 10
    batch: Positive = 256
    learning_rate: AboveZero = 2e-3
    dev_share: BelowOne = 0.1
    """Share of the sentences that figures are computed on, and nothing is learned from."""


@dataclass(frozen=True)
class PolicyRecipe:
    """Heads of one model, through which learned policies look at it."""

    model: str
    """The name of a model that came with Turia, or a folder."""
    export: Path
    """The model folder to write: the same model with its heads."""
    train: tuple[Corpus, ...]
    """Parallel corpora, best of the kind that will be translated."""
    run: Path = Path("run")
    """What is kept of the way there: the model with the graphs of this release, and the heads."""
    seed: Natural = 1
    align_sentences: Positive = 50_000
    """Sentence pairs, at most, that the word alignments are learned from: the first ones of each corpus, alike many."""
    sentences: Positive = 4000
    """Sentence pairs among them, drawn at random, that the heads are learned from."""
    max_words: Positive = 60
    """Longer sentences, on either side, are left out."""
    chunk: ChunkHeads = field(default_factory=ChunkHeads)
    act: ActHeads = field(default_factory=ActHeads)
    training: HeadTraining = field(default_factory=HeadTraining)

    def __post_init__(self) -> None:
        if not self.chunk.delays and not self.act.lag_costs:
            raise ConfigError("nothing to learn: set chunk.delays or act.lag_costs")
