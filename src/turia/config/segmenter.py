"""Recipes of `turia segmenter train`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from turia.config.corpus import Corpus
from turia.errors import ConfigError
from turia.schema import AboveZero, BelowOne, Natural, Positive, Share


@dataclass(frozen=True)
class SegmenterData:
    """Texts whose sentence ends the segmenter learns."""

    train: tuple[Corpus, ...]
    """Parallel corpora; a line is a sentence. Read are the column of the recipe's language, or the file `source`."""
    dev: tuple[Corpus, ...]
    """Decides the learning rate, the best epoch and the threshold."""
    monolingual: tuple[Path, ...] = ()
    """Running text, `id<TAB>text` a line, whose punctuation gives the sentence ends."""


@dataclass(frozen=True)
class SegmenterModel:
    """The classifier of METHOD section 5. The paper has embedding 256, hidden 256."""

    network: Literal["ff-text", "rnn", "stream"] = "ff-text"
    windows: tuple[Natural, ...] = (0, 1, 2, 3, 4)
    """Future words w: one classifier each, on shared embedding and GRU."""
    vocabulary: Positive = 25_000
    """Words with an id of their own."""
    embedding: Positive = 256
    hidden: Positive = 256
    feed_forward: Positive = 128
    """Width of the two ReLU layers of `ff-text`."""
    dropout: BelowOne = 0.3

    def __post_init__(self) -> None:
        if not self.windows:
            raise ConfigError("windows is empty, expected at least one number of future words")
        if self.vocabulary > 65_000:
            raise ConfigError(f"vocabulary is {self.vocabulary}, expected at most 65000: ids are kept in 16 bits")


@dataclass(frozen=True)
class SegmenterTraining:
    """The optimiser of the segmenter."""

    epochs: Positive = 15
    samples_per_epoch: Positive = 1_000_000
    batch: Positive = 256
    split_share: BelowOne = 0.3
    """Least share of samples that are sentence ends."""
    hidden_future: Share = 0.05
    """Share of samples whose last future words are hidden, as when a stream word says nothing."""
    own_past: Share = 0.5
    """Share of samples, from the second epoch on, whose past holds the network's own boundaries; the paper has 0."""
    learning_rate: AboveZero = 1e-4
    patience: Natural = 5
    """The learning rate is halved after more than so many epochs without a better dev macro-F1."""
    decision: Literal["calibrated", "argmax"] = "calibrated"
    """The threshold with the best boundary F1 on dev, or 0.5."""
    threads: Positive | None = None


@dataclass(frozen=True)
class SegmenterRecipe:
    """One language's segmenter, for all its windows."""

    language: str
    data: SegmenterData
    run: Path = Path("run")
    seed: Natural = 1
    model: SegmenterModel = field(default_factory=SegmenterModel)
    training: SegmenterTraining = field(default_factory=SegmenterTraining)
