"""Recipes of `turia sweep`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from turia.config.corpus import Corpus
from turia.config.model import OFFLINE_K
from turia.errors import ConfigError
from turia.schema import AboveZero, Natural, Positive, Share


@dataclass(frozen=True)
class Published:
    """Somebody else's outputs on the same test set, scored by our evaluation and drawn beside ours."""

    folder: Path
    """source.LANGUAGE and reference.LANGUAGE; in wW_kK/ hypothesis.LANGUAGE and actions."""
    name: str = "authors"
    unit: Literal["word", "moses"] = "moses"
    """What one of their WRITEs is; Moses tokens are joined to words."""


def file_name(name: str) -> str:
    """A test set's name as the name of files."""
    return re.sub(r"[^\w.-]+", "-", name)


@dataclass(frozen=True)
class SweepTest:
    """A test set."""

    name: str
    corpus: Corpus
    published: Published | None = None


@dataclass(frozen=True)
class SweepRecipe:
    """Every k x segmentation x history (x variants) on test sets."""

    folder: Path
    """Traces and results go here."""
    test: tuple[SweepTest, ...]
    models: tuple[str, ...] = ("de-en",)
    """Names of models that came with Turia, or folders, relative to the recipe's own as all paths are."""
    bounds: tuple[str, ...] = ()
    """Further models, run offline only: each a line above the curves, such as that of a bidirectional encoder."""
    wait_k_models: tuple[str, ...] = ()
    """Further models, run with wait-k only: those that have not the heads of a learned policy, say."""
    k: tuple[Positive, ...] = (1, 2, 4, 8, 16)
    """Of wait-k."""
    policies: tuple[str, ...] = ()
    """Further policies, such as "hold-n:n=3"; those of one name are one curve."""
    target_lag: tuple[str, ...] = ()
    """Mean lags, such as "5", to which every policy that can be moved is held too."""
    glossary: Path | None = None
    """A table of terms (docs/terms.md), with which everything is run a second time."""
    windows: tuple[Natural, ...] = (0, 1, 2, 3, 4)
    """Future words of the segmenter."""
    thresholds: tuple[Share, ...] = ()
    """Probabilities from which on the segmenter ends a sentence; empty takes each model's own."""
    blocks: tuple[Positive, ...] = ()
    """No sentence ends: the stream is cut after every so many words."""
    free: tuple[Literal["attention", "reverse"], ...] = ()
    """Without a segmenter, as `--segmentation free`: how the source is cut. Run with the models that can do so."""
    reverse_model: str = ""
    """The model of the opposite direction that cuts where `free` has "reverse"."""
    oracle: bool = True
    """The reference segmentation too."""
    offline: bool = True
    """The upper bound too: reference segmentation, whole sentences read before anything is written."""
    history: tuple[Natural, ...] = ()
    """Words of history; empty takes each model's own."""
    encoding: tuple[Literal["incremental", "full"], ...] = ("incremental",)
    recompute: tuple[bool, ...] = (False,)
    beam: tuple[Positive, ...] = ()
    """Hypotheses of the search; empty takes each model's own."""
    gamma: AboveZero | None = None
    """Without it, each model's own."""
    rounding: Literal["floor", "ceil"] = "floor"
    max_lag: Positive | None = None
    """Words behind the speaker after which a policy that looks or is learned has to write; without it, the default."""
    streams: Literal["one", "documents"] = "one"
    """All documents as one stream, as in the paper, or a stream for each."""
    sentences: Natural = 0
    """The first so many of each test set; 0 takes all."""
    dal_scale: AboveZero = 0.85
    latency: Literal["stream", "sentence"] = "stream"
    """Over the whole stream, or of each sentence by itself, as systems that translate single sentences are measured."""
    regimes: tuple[AboveZero, ...] = ()
    """Where regimes of latency end, in AL: [3, 6, 15] are the low, medium and high one of IWSLT 2020. A line in the
    picture for each, and a table of the best point of each curve in each of them."""
    resamples: Natural = 0
    """Bootstrap resamples for confidence intervals of BLEU and chrF; 0 for none."""
    baseline: str = ""
    """A curve, by its name in the table; the others are tested against it at each k (paired bootstrap of BLEU). Or a
    policy; the others are tested against it at equal AL, between the two of its points beside them."""
    conventions: tuple[Literal["simuleval", "streamlaal", "longyaal"], ...] = ()
    """Further conventions of latency."""
    timed_words: Natural = 0
    """Source words that each configuration translates once more, alone, to measure its speed; 0 measures none."""
    batch: Positive = 16
    """Streams that a process translates together."""

    def __post_init__(self) -> None:
        for name in ("test", "models", "encoding", "recompute"):
            if not getattr(self, name):
                raise ConfigError(f"{name} is empty, expected at least one")
        once = ("k", "policies", "windows", "thresholds", "blocks", "free", "history", "encoding", "recompute", "beam")
        for name in (*once, "conventions"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}, expected each value once")
        if list(self.regimes) != sorted(set(self.regimes)):
            raise ConfigError(f"regimes is {list(self.regimes)}, expected growing numbers")
        segments = self.windows or self.blocks or self.free or self.oracle
        if not (self.offline or ((self.k or self.policies) and segments)):
            raise ConfigError(
                "nothing to translate: set k or policies, and windows, blocks, free or oracle; or offline"
            )
        if ("reverse" in self.free) != bool(self.reverse_model):
            raise ConfigError("reverse_model and 'reverse' in free belong together: set both, or none of them")
        if self.thresholds and not self.windows:
            raise ConfigError("thresholds is set, which are the segmenter's, but windows is empty: no segmenter is run")
        if self.latency == "sentence" and (self.windows or self.blocks or self.free):
            raise ConfigError("latency is 'sentence', which needs the sentences of the reference: set windows = []")
        if self.latency == "sentence" and any(test.published for test in self.test):
            raise ConfigError("latency is 'sentence', but published outputs are streams: leave published out")
        if any(k >= OFFLINE_K for k in self.k):
            raise ConfigError(
                f"k of {OFFLINE_K} words or more reads whole sentences, for which there is offline = true"
            )
        if self.resamples == 1:
            raise ConfigError("resamples is 1, expected 0 for no interval, or 2 or more")
        if self.baseline and not self.resamples:
            raise ConfigError("baseline is set, but resamples is 0: the test needs some, 1000 are usual")
        if len({file_name(test.name) for test in self.test}) < len(self.test):
            raise ConfigError("two test sets have one name, or names that make one folder: 'a b' and 'a-b' do")
        models = self.models + self.wait_k_models + self.bounds
        if len({Path(model).name for model in models}) < len(models):
            raise ConfigError("two models have one name: the last parts of their folders must differ")
