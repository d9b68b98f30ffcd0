"""Recipes: frozen dataclasses filled from TOML.

Rules: a key that no dataclass knows is refused, with the nearest known one named; so is a value of the wrong type or
outside its range. Paths in a recipe are relative to the recipe's own folder. One recipe is one experiment: `turia
prepare` and `turia train` read the same file, and a run folder keeps a copy of what it was trained with.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

from turia.errors import ConfigError

Encoder = Literal["bidirectional", "unidirectional", "pbe"]
Anchor = Literal["window", "sentence"]


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
    repeat: int = 1
    """How often the corpus is used in one epoch."""


@dataclass(frozen=True)
class Data:
    """What is read, and where the prepared shards go."""

    folder: Path = Path("prepared")
    train: tuple[Corpus, ...] = ()
    dev: tuple[Corpus, ...] = ()


@dataclass(frozen=True)
class Filters:
    """What is dropped from the training corpora; each filter reports how many pairs it dropped."""

    min_words: int = 1
    max_words: int = 120
    max_ratio: float = 3.0
    """Longer side over shorter side in words, for pairs longer than `ratio_from_words`."""
    ratio_from_words: int = 5
    language: bool = True
    duplicates: int = 5
    """How often the same pair may occur; 0 keeps all."""


@dataclass(frozen=True)
class Subwords:
    """SentencePiece BPE, white space as suffix."""

    vocabulary: int = 8000
    joint: bool = True
    """One vocabulary for both languages, or one each."""
    sentences: int = 1_000_000
    """At most so many lines a language are used to learn the pieces."""


@dataclass(frozen=True)
class Windows:
    """History samples (METHOD section 3)."""

    history: int = 60
    """h, in words; 0 trains on single sentences."""
    kind: Literal["consecutive", "sliding"] = "consecutive"
    sentences_per_window: float = 3.0
    """Single-sentence samples to one window sample; the paper has 3."""


@dataclass(frozen=True)
class Model:
    """Shape of the Transformer. `preset` gives the sizes that are not set here."""

    preset: Literal["tiny", "small", "base", "big"] = "small"
    width: int | None = None
    feed_forward: int | None = None
    heads: int | None = None
    encoder_layers: int | None = None
    decoder_layers: int | None = None
    encoder: Encoder = "pbe"
    anchor: Anchor = "sentence"
    norm: Literal["pre", "post"] = "pre"
    max_positions: int = 512


@dataclass(frozen=True)
class Training:
    """The optimiser and its schedule."""

    batch_tokens: int = 4000
    """Target tokens in a batch, padding included."""
    batch_tokens_start: int | None = None
    """Batches begin at this size and grow to `batch_tokens` over `batch_growth_steps`."""
    batch_growth_steps: int = 0
    accumulate: int = 1
    """Batches to one optimiser step."""
    learning_rate: float = 5e-4
    warmup_steps: int = 4000
    schedule: Literal["inverse-sqrt", "linear", "fixed"] = "inverse-sqrt"
    """`linear` holds the rate after warm-up and cools down to zero over the last `cooldown` of the planned end."""
    cooldown: float = 1.0
    """Share of the planned length over which `linear` falls to zero."""
    steps: int | None = None
    hours: float | None = None
    """The planned end: optimiser steps, or hours of training (time while not running does not count)."""
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    clip: float = 0.0
    """Largest gradient norm; 0 does not clip."""
    dropout: float = 0.1
    label_smoothing: float = 0.1
    k_range: tuple[int, int] | None = None
    """Multi-k: k uniform in this range; without it in [1, longest source of the batch]."""
    windows_from: float = 0.0
    """Share of the planned length trained on single sentences alone before windows join."""
    start_from: Path | None = None
    """A run whose weights are the start (fine-tuning)."""
    threads: int | None = None
    keep: int = 5
    """Checkpoints kept beside best and last, for averaging."""
    save_minutes: float = 10.0
    save_steps: int | None = None
    """Save every so many steps in place of minutes."""


@dataclass(frozen=True)
class Validation:
    """Looks at the model while it grows."""

    minutes: float = 30.0
    steps: int | None = None
    """Validate every so many steps in place of minutes."""
    k: tuple[int, ...] = (1, 4, 8, 16)
    batches: int = 40
    """Batches of the dev set in the loss; 0 takes all."""
    bleu_sentences: int = 100
    """Sentences of the dev set, in document order, that are decoded as a stream; 0 for none."""
    bleu_k: tuple[int, ...] = (8,)


@dataclass(frozen=True)
class Recipe:
    """One experiment."""

    source_language: str
    target_language: str
    run: Path = Path("run")
    seed: int = 1
    data: Data = field(default_factory=Data)
    filters: Filters = field(default_factory=Filters)
    subwords: Subwords = field(default_factory=Subwords)
    windows: Windows = field(default_factory=Windows)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    validation: Validation = field(default_factory=Validation)


@dataclass(frozen=True)
class SegmenterData:
    """Texts whose sentence ends the segmenter learns."""

    train: tuple[Corpus, ...]
    """Parallel corpora, of which the side of the recipe's language is used; a line is a sentence."""
    dev: tuple[Corpus, ...]
    """Decides the learning rate, the best epoch and the threshold."""
    monolingual: tuple[Path, ...] = ()
    """Running text, `id<TAB>text` a line, whose punctuation gives the sentence ends."""


@dataclass(frozen=True)
class SegmenterModel:
    """The classifier of METHOD section 5. The paper has embedding 256, hidden 256."""

    network: Literal["ff-text", "rnn"] = "ff-text"
    windows: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Future words w: one classifier each, on shared embedding and GRU."""
    vocabulary: int = 25_000
    """Words with their own id."""
    endings: int = 1000
    """Word endings with an id, for the words without one."""
    embedding: int = 256
    hidden: int = 256
    feed_forward: int = 128
    """Width of the two ReLU layers of `ff-text`."""
    dropout: float = 0.3


@dataclass(frozen=True)
class SegmenterTraining:
    """The optimiser of the segmenter."""

    epochs: int = 15
    samples_per_epoch: int = 1_000_000
    batch: int = 256
    split_share: float = 0.3
    """Least share of samples that are sentence ends."""
    hidden_future: float = 0.05
    """Share of samples whose last future words are hidden, as when a stream word says nothing."""
    learning_rate: float = 1e-4
    patience: int = 5
    """Epochs without a better dev macro-F1 after which the learning rate is halved."""
    decision: Literal["calibrated", "argmax"] = "calibrated"
    """The threshold with the best boundary F1 on dev, or 0.5."""
    threads: int | None = None


@dataclass(frozen=True)
class SegmenterRecipe:
    """One language's segmenter, for all its windows."""

    language: str
    data: SegmenterData
    run: Path = Path("run")
    seed: int = 1
    model: SegmenterModel = field(default_factory=SegmenterModel)
    training: SegmenterTraining = field(default_factory=SegmenterTraining)


T = TypeVar("T")


def load_toml(kind: type[T], path: Path) -> T:
    """The dataclass `kind` from a TOML file; every complaint names the file and the key."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, expected a TOML file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    try:
        return from_dict(kind, data, base=path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def from_dict(kind: type[T], data: dict[str, Any], base: Path | None = None, prefix: str = "") -> T:
    """The dataclass `kind` from plain data. `base` is what relative paths are relative to."""
    assert dataclasses.is_dataclass(kind)
    hints = typing.get_type_hints(kind)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            hint = f"; did you mean {prefix + near[0]!r}?" if near else f"; known keys: {', '.join(fields)}"
            raise ConfigError(f"unknown key {prefix + key!r}{hint}")
        values[key] = _value(hints[key], value, base, prefix + key)
    for name, item in fields.items():
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise ConfigError(f"missing key {prefix + name!r}")
    return kind(**values)  # type: ignore[return-value]


def to_dict(config: Any) -> dict[str, Any]:
    """Plain JSON data from a dataclass, such that `from_dict` gives it back; unset keys are left out."""
    assert dataclasses.is_dataclass(config)
    plain = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if value is not None:
            plain[item.name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _value(expected: Any, value: Any, base: Path | None, key: str) -> Any:
    """`value` as the type `expected`, or a ConfigError that names the key."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        return _value(next(kind for kind in arguments if kind is not type(None)), value, base, key)
    if origin is Literal:
        if value not in arguments:
            raise ConfigError(f"{key} is {value!r}, expected one of {', '.join(map(repr, arguments))}")
        return value
    if origin is tuple:
        return _tuple(arguments, value, base, key)
    if dataclasses.is_dataclass(expected) and isinstance(expected, type):
        if not isinstance(value, dict):
            raise ConfigError(f"{key} is {value!r}, expected a table")
        return from_dict(expected, value, base, key + ".")
    if expected is Path and isinstance(value, str):
        path = Path(value).expanduser()
        return path if base is None or path.is_absolute() else base / path
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise ConfigError(f"{key} is {value!r}, expected {_NAMES.get(expected, expected.__name__)}")
    return value


def _tuple(arguments: tuple[Any, ...], value: Any, base: Path | None, key: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{key} is {value!r}, expected a list")
    if arguments[-1] is not Ellipsis and len(value) != len(arguments):
        raise ConfigError(f"{key} has {len(value)} entries, expected {len(arguments)}")
    return tuple(
        _value(arguments[0] if arguments[-1] is Ellipsis else arguments[i], item, base, f"{key}[{i}]")
        for i, item in enumerate(value)
    )


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", Path: "a path"}
