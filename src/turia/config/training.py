"""Recipes of `turia prepare` and `turia train`, with their tables `training` and `validation`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from turia.config.corpus import Data, Filters, SubwordSettings, Windows
from turia.config.model import ModelSettings
from turia.errors import ConfigError
from turia.schema import AboveZero, BelowOne, Natural, NotNegative, Positive, Share


@dataclass(frozen=True)
class Training:
    """The optimiser and its schedule."""

    batch_tokens: Positive = 4000
    """Pieces of the longer side in a batch of one process, padding included."""
    batch_tokens_start: Positive | None = None
    """Batches begin at this size and grow to `batch_tokens` over `batch_growth_steps`."""
    batch_growth_steps: Natural = 0
    accumulate: Positive = 1
    """Batches to one optimiser step."""
    learning_rate: AboveZero = 5e-4
    warmup_steps: Natural = 4000
    schedule: Literal["inverse-sqrt", "linear", "fixed"] = "inverse-sqrt"
    """`linear` holds the rate after warm-up and cools down to zero over the last `cooldown` of the plan."""
    cooldown: Share = 1.0
    """Share of the planned length over which `linear` falls to zero."""
    steps: Positive | None = None
    hours: AboveZero | None = None
    """The planned end: optimiser steps, or hours of training (time while not running does not count)."""
    optimizer: Literal["adam", "muon"] = "adam"
    """`muon` (Jordan et al. 2024) trains the matrices of the layers; embeddings, norms and biases stay with Adam."""
    muon_rate: AboveZero = 0.02
    """Muon's learning rate at its peak; it follows the same schedule as `learning_rate`, which is Adam's."""
    muon_momentum: BelowOne = 0.95
    betas: tuple[BelowOne, BelowOne] = (0.9, 0.98)
    """Of Adam."""
    weight_decay: NotNegative = 0.0
    """Adam adds it to the gradient (L2); Muon shrinks the matrices by its rate times this (decoupled)."""
    clip: NotNegative = 0.0
    """Largest gradient norm; 0 does not clip."""
    dropout: BelowOne = 0.1
    label_smoothing: BelowOne = 0.1
    k_range: tuple[Positive, Positive] | None = None
    """Multi-k: k uniform in this range; without it in [1, longest source of the batch]."""
    paths: Literal["multi-k", "any"] = "multi-k"
    """When target words are written while training. `multi-k`: one k for each batch. `any`: in a share of the batches,
    `any_share`, the lag of each sentence walks up and down at random within the range of k, as it does under an
    adaptive policy."""
    any_share: Share = 0.25
    skip_unlikely: NotNegative = 0.0
    """Samples whose loss per piece is more than so many standard deviations above the mean of their batch are not
    learned from: most of them are misaligned pairs. 0 skips none."""
    windows_from: Share = 0.0
    """Share of the planned length trained on single sentences alone before windows join; 1 is never."""
    last_sentence_weight: AboveZero = 1.0
    """What the labels of the last sentence of a window weigh in the loss; those of the others, and of single sentences,
    weigh 1. The last one has the longest history."""
    free_share: Share = 0.0
    """Share of the batches whose sources do not say where a sentence ends, so that the model learns to work without a
    segmenter (`--segmentation free`). Above 0, the dev loss is that of such batches."""
    prefix_share: Share = 0.5
    """Of the samples in these batches, how many are cut at a random place, where the model learns to wait for more."""
    shift: Natural = 0
    """Single sentences begin up to so many positions further on, as they would behind a history. For sinusoidal
    positions only; rotary ones make no difference between places."""
    start_from: Path | None = None
    """A run, or a model folder, whose weights are the start (fine-tuning)."""
    match_pieces: bool = False
    """It may have other subwords: embeddings are taken over by the spelling of pieces."""
    threads: Positive | None = None
    cpu_bfloat16: bool = False
    """On a CPU that multiplies bfloat16 numbers itself (AVX-512 BF16, AMX), multiply matrices in bfloat16: twice the
    speed. Weights, sums and attention stay float32. Other CPUs train in float32, and a line says so."""
    keep: Natural = 5
    """Newest checkpoints kept, for averaging. The last one and the best one stay in any case."""
    save_minutes: AboveZero = 10.0
    save_steps: Positive | None = None
    """Save every so many steps in place of minutes."""
    ALTERNATIVES: ClassVar = (("steps", "hours"),)
    """A plan has one end: a recipe with one of them drops the other of the recipe that it extends."""

    def __post_init__(self) -> None:
        if self.steps is not None and self.hours is not None:
            raise ConfigError("steps and hours are both set: a plan has one end")
        if self.steps is None and self.hours is None:
            if self.schedule == "linear":
                raise ConfigError("schedule is 'linear', which needs a planned end: set steps or hours")
            if self.windows_from > 0:
                raise ConfigError("windows_from is a share of the planned length: set steps or hours")
        if self.batch_tokens_start is not None and self.batch_growth_steps == 0:
            raise ConfigError("batch_tokens_start is set, but batches never grow: set batch_growth_steps")
        if self.match_pieces and self.start_from is None:
            raise ConfigError("match_pieces is set, but there is no run to match: set start_from")
        if self.k_range is not None and self.k_range[0] > self.k_range[1]:
            raise ConfigError(f"k_range is {list(self.k_range)}, expected the smaller k first")


@dataclass(frozen=True)
class Validation:
    """Looks at the model while it grows."""

    minutes: AboveZero = 30.0
    steps: Positive | None = None
    """Validate every so many steps in place of minutes."""
    k: tuple[Positive, ...] = (1, 4, 8, 16)
    history_k: tuple[Positive, ...] = ()
    """Where the loss of last sentences is computed with their history and without; if none is named, at the last k."""
    batches: Natural = 40
    """Batches of the dev set in the loss, from its shortest samples to its longest; 0 takes all."""
    bleu_sentences: Natural = 100
    """Sentences of the dev set, in document order, that are decoded as a stream; 0 for none."""
    bleu_k: tuple[Positive, ...] = (8,)

    def __post_init__(self) -> None:
        if not self.k:
            raise ConfigError("k is empty, expected at least one k to validate at")
        if self.bleu_sentences > 0 and not self.bleu_k:
            raise ConfigError("bleu_k is empty, expected at least one k, or bleu_sentences = 0")


@dataclass(frozen=True)
class Recipe:
    """One experiment."""

    source_language: str
    target_language: str
    run: Path = Path("run")
    seed: Natural = 1
    data: Data = field(default_factory=Data)
    filters: Filters = field(default_factory=Filters)
    subwords: SubwordSettings = field(default_factory=SubwordSettings)
    windows: Windows = field(default_factory=Windows)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: Training = field(default_factory=Training)
    validation: Validation = field(default_factory=Validation)

    def __post_init__(self) -> None:
        if self.training.shift > 0 and self.model.positions == "rotary":
            raise ConfigError(
                "training.shift is set, but model.positions is 'rotary', for which a shift changes nothing: "
                "leave training.shift out"
            )
        if self.training.paths == "any" and self.model.anchor == "window":
            raise ConfigError("training.paths is 'any', which needs model.anchor = 'sentence'")
        if self.training.free_share > 0 and self.model.anchor == "window":
            raise ConfigError("training.free_share is set, which needs model.anchor = 'sentence'")
        without_windows = self.windows.history == 0 or self.training.windows_from == 1
        if self.training.free_share > 0 and without_windows:
            raise ConfigError(
                "training.free_share is set, but without windows of several sentences there is no separator to learn: "
                "set windows.history, and training.windows_from below 1"
            )
        if self.training.last_sentence_weight != 1 and without_windows:
            raise ConfigError(
                "training.last_sentence_weight is set, but there are no windows of several sentences: "
                "set windows.history, and training.windows_from below 1"
            )
