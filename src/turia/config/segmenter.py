"""Recipes of `turia segmenter train`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from turia.config.corpus import Corpus
from turia.errors import ConfigError
from turia.schema import AboveZero, BelowOne, Natural, Positive, Share


@dataclass(frozen=True)
class SegmenterData:
    """Texts whose sentence ends the segmenter learns."""

    train: tuple[Corpus, ...]
    """Parallel corpora; a line is a sentence. Read are the column of the recipe's language, or the file `source`."""
    dev: tuple[Corpus, ...]
    """Decides the best epoch, the threshold and, but for `stream`, the learning rate."""
    monolingual: tuple[Path, ...] = ()
    """Running text, `id<TAB>text` a line, whose punctuation gives the sentence ends."""


@dataclass(frozen=True)
class SegmenterModel:
    """The network. Those of METHOD section 5 are `ff-text` and `rnn`; the paper has embedding 256, hidden 256."""

    network: Literal["ff-text", "rnn", "stream"] = "ff-text"
    windows: tuple[Natural, ...] = (0, 1, 2, 3, 4)
    """Future words w: one classifier each, on shared embedding and GRU. `stream` has all up to the widest."""
    vocabulary: Positive = 25_000
    """Words with an id of their own."""
    embedding: Positive = 256
    hidden: Positive = 256
    feed_forward: Positive = 128
    """Width of the ReLU layers on top; `rnn` has none."""
    dropout: BelowOne = 0.3

    def __post_init__(self) -> None:
        if not self.windows:
            raise ConfigError("windows is empty, expected at least one number of future words")
        if self.vocabulary > 65_000:
            raise ConfigError(f"vocabulary is {self.vocabulary}, expected at most 65000: ids are kept in 16 bits")
        if self.network == "stream":
            self._check_stream()

    def _check_stream(self) -> None:
        """What would fail in the training, or when its network is exported."""
        if max(self.windows) > 50:
            raise ConfigError(f"windows has {max(self.windows)}, expected at most 50: rows of 'stream' have 100 words")
        for name in ("embedding", "hidden", "feed_forward"):
            if (width := getattr(self, name)) > 4096:
                raise ConfigError(f"{name} is {width}, expected at most 4096 for network 'stream'")


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

    NOT_FOR_STREAM: ClassVar = ("split_share", "hidden_future", "own_past", "patience")
    """Keys that do nothing with the network `stream`."""


@dataclass(frozen=True)
class SegmenterRecipe:
    """One language's segmenter, for all its windows."""

    language: str
    data: SegmenterData
    run: Path = Path("run")
    seed: Natural = 1
    model: SegmenterModel = field(default_factory=SegmenterModel)
    training: SegmenterTraining = field(default_factory=SegmenterTraining)

    def __post_init__(self) -> None:
        if self.model.network != "stream":
            return
        usual = SegmenterTraining()
        for name in SegmenterTraining.NOT_FOR_STREAM:
            # A key at its default cannot be told from one that was left out.
            if (value := getattr(self.training, name)) != (default := getattr(usual, name)):
                raise ConfigError(
                    f"training.{name} is {value}, but model.network is 'stream', for which it changes nothing: "
                    f"leave it out, or at {default}"
                )
