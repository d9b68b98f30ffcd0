"""Recipes: frozen dataclasses filled from TOML.

One recipe is one experiment: `turia prepare` and `turia train` read the same file, and a run folder keeps a copy of
what it was trained with. The range of one value is in its type (`Natural`, `Share`, ...); what several values must
keep together is in `__post_init__`. How a file becomes a recipe is in `schema.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from turia.errors import ConfigError
from turia.schema import AboveZero, AtLeastOne, BelowOne, Natural, NotNegative, Positive, Share, load_toml

T = TypeVar("T")

Encoder = Literal["bidirectional", "unidirectional", "pbe"]
Anchor = Literal["window", "sentence"]
Preset = Literal["tiny", "small", "base", "big"]
Conventions = Literal["turia", "marian"]
"""Of a Transformer. `marian` (models that `turia import-marian` made, and their offspring): swish in place of ReLU,
Marian's sinusoids, a bias on the logits, and no opening symbol before the source."""
Search = Literal["turia", "generate"]
"""How a beam over a whole sentence ends: by rules of ours, or by those of `generate` in the library transformers."""
Positions = Literal["sinusoidal", "rotary"]
"""How a Transformer knows the order of pieces: sinusoids added to the embeddings, as in the paper, or queries and keys
of self-attention rotated by their position (Su et al. 2021), which shows attention distances only."""


OFFLINE_K = 1000
"""More words than any sentence has: nothing is written before the whole sentence is read."""
MOST_HYPOTHESES = 64
"""Of a beam: each keeps decoder states of its own, thousands of them would fill the memory."""


@dataclass(frozen=True)
class Corpus:
    """Parallel text in document order. Give `path` (tsv), or `source` and `target` (plain or xml)."""

    path: Path | None = None
    """`.tsv` or `.tsv.xz`: document, then the columns named in `columns`."""
    columns: tuple[str, ...] = ("de", "en")
    """Languages of the columns after the document id."""
    source: Path | None = None
    target: Path | None = None
    documents: Path | None = None
    """Plain files: one document id a line; without it, blank lines part documents."""
    format: Literal["tsv", "plain", "xml"] = "tsv"
    context: bool = True
    """Whether documents are real, so that history windows may be cut from them."""
    repeat: Positive = 1
    """How often the corpus is used in one epoch."""
    hold_out: Positive | None = None
    """One pair in so many is kept for development: a `data.train` corpus leaves these pairs out; a `data.dev` corpus,
    or the test set of a sweep, has only them. A hash of the text in the later column, lower-cased, decides; so both
    directions hold out the same."""
    licence: str | None = None
    """Under which terms it may be used; goes into the cards of models that were trained on it."""
    synthetic: bool | None = None
    """Whether its source side was written by a machine (`turia backtranslate`); the cards say so."""

    def __post_init__(self) -> None:
        if self.hold_out is not None and self.context:
            raise ConfigError(
                "hold_out is set, which takes single pairs out of their documents: set context = false as well"
            )


@dataclass(frozen=True)
class Data:
    """What is read, and where the prepared shards go."""

    folder: Path = Path("prepared")
    train: tuple[Corpus, ...] = ()
    dev: tuple[Corpus, ...] = ()
    source_text: Literal["spoken", "written"] = "spoken"
    """`spoken` is normalised to what a recogniser gives; `written` keeps case and punctuation."""

    def __post_init__(self) -> None:
        for dev, train in product(self.dev, self.train):
            if (dev.path, dev.source) == (train.path, train.source) and dev.hold_out != train.hold_out:
                raise ConfigError(
                    f"{dev.path or dev.source} has hold_out = {dev.hold_out} in dev and {train.hold_out} in train, so "
                    "that pairs of dev would be trained on: set both to the same"
                )


@dataclass(frozen=True)
class Filters:
    """What is dropped from the training corpora; each filter reports how many pairs it dropped."""

    min_words: Natural = 1
    max_words: Positive = 120
    max_ratio: AtLeastOne = 3.0
    """Longer side over shorter side in words, for pairs longer than `ratio_from_words`."""
    ratio_from_words: Natural = 5
    language: bool = True
    duplicates: Natural = 5
    """How often the same pair is drawn as a single sentence in an epoch, times its corpus's `repeat`; 0 sets no limit.
    Windows keep it."""

    def __post_init__(self) -> None:
        if self.min_words > self.max_words:
            raise ConfigError(f"min_words is {self.min_words}, more than max_words, {self.max_words}")


@dataclass(frozen=True)
class SubwordSettings:
    """SentencePiece BPE, white space as suffix."""

    vocabulary: Positive = 8000
    """Pieces, at most: a small corpus has fewer. 256 of them are bytes."""
    joint: bool = True
    """One vocabulary for both languages and one embedding for encoder and decoder, or one each. The decoder's input and
    output share theirs in any case."""
    sentences: Positive = 1_000_000
    """At most so many pairs, evenly spaced, are used to learn the pieces."""
    split_digits: bool = False
    """Every digit is a piece of its own: numbers are copied digit by digit."""
    space_first: bool = False
    """White space at the beginning of words, as Marian has it: the end of a word then shows only in what follows."""
    reuse: Path | None = None
    """A run, data or model folder whose pieces are taken as they are, in place of learning some: for fine-tuning."""


@dataclass(frozen=True)
class Windows:
    """History samples (METHOD section 3)."""

    history: Natural = 60
    """h, in words; 0 trains on single sentences."""
    kind: Literal["consecutive", "sliding"] = "consecutive"
    sentences_per_window: NotNegative = 3.0
    """Single-sentence samples to one window sample; the paper has 3."""


@dataclass(frozen=True)
class ModelSettings:
    """Shape of the Transformer. `preset` gives the sizes that are not set here."""

    preset: Preset = "small"
    width: Positive | None = None
    feed_forward: Positive | None = None
    heads: Positive | None = None
    encoder_layers: Positive | None = None
    decoder_layers: Positive | None = None
    encoder: Encoder = "pbe"
    anchor: Anchor = "sentence"
    norm: Literal["pre", "post"] = "pre"
    conventions: Conventions = "turia"
    positions: Positions = "sinusoidal"
    max_positions: Positive = 512

    def __post_init__(self) -> None:
        if self.positions == "rotary" and self.conventions == "marian":
            raise ConfigError("positions is 'rotary', but conventions is 'marian', whose positions are sinusoidal")
        if self.anchor == "window" and self.conventions == "marian":
            raise ConfigError(
                "anchor is 'window', which counts from a symbol that Marian's sentences do not begin with"
            )


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

    network: Literal["ff-text", "rnn"] = "ff-text"
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


@dataclass(frozen=True)
class ChunkHeads:
    """Heads of the policy `chunk`."""

    delays: tuple[Natural, ...] = (2,)
    """Words that are read after the end of a chunk before it is decided; heads for each."""
    least_words: Positive = 2
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
    batch: Positive = 512
    learning_rate: AboveZero = 1e-3
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
    windows: tuple[Natural, ...] = (0, 1, 2, 3, 4)
    """Future words of the segmenter."""
    blocks: tuple[Positive, ...] = ()
    """No sentence ends: the stream is cut after every so many words."""
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
        for name in ("k", "policies", "windows", "blocks", "history", "encoding", "recompute", "beam", "conventions"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} is {list(values)}, expected each value once")
        if not (self.offline or ((self.k or self.policies) and (self.windows or self.blocks or self.oracle))):
            raise ConfigError("nothing to translate: set k or policies, and windows, blocks or oracle; or offline")
        if self.latency == "sentence" and (self.windows or self.blocks):
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


COMMANDS: dict[type[Any], str] = {
    Recipe: "`turia prepare` and `turia train`",
    SegmenterRecipe: "`turia segmenter train`",
    PolicyRecipe: "`turia policy train`",
    SweepRecipe: "`turia sweep`",
}
"""Kinds of recipes, and what reads them."""


def load_recipe(kind: type[T], path: Path) -> T:
    """A recipe of this kind from a file. One of another kind is called so: its keys would seem to be misspelt."""
    try:
        return load_toml(kind, path)
    except ConfigError:
        for other, command in COMMANDS.items():
            if other is not kind and _can_be(other, path):
                raise ConfigError(f"{path}: this is a recipe for {command}") from None
        raise


def _can_be(kind: type[Any], path: Path) -> bool:
    try:
        load_toml(kind, path)
    except ConfigError:
        return False
    return True
