"""Tables of a recipe that say which text is read, and what is made of it: `data`, `filters`, `subwords`, `windows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from os.path import normpath
from pathlib import Path
from typing import Literal

from turia.errors import ConfigError
from turia.schema import AtLeastOne, Natural, NotNegative, Positive


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

    def same_text(self, other: Corpus) -> bool:
        """Whether both are read from the same files."""
        ours, theirs = (
            [None if path is None else normpath(path) for path in (corpus.path, corpus.source)]
            for corpus in (self, other)
        )
        return ours == theirs


def check_held_out_alike(train: Sequence[Corpus], dev: Sequence[Corpus]) -> None:
    """Refuses a file of both train and dev that holds out other pairs in one than in the other."""
    for kept, learned in product(dev, train):
        if kept.same_text(learned) and kept.hold_out != learned.hold_out:
            raise ConfigError(
                f"{kept.path or kept.source} has hold_out = {kept.hold_out} in dev and {learned.hold_out} in train, so "
                "that pairs of dev would be trained on: set both to the same"
            )


def check_dev_apart(train: Sequence[Corpus], dev: Sequence[Corpus]) -> None:
    """Refuses a file of both train and dev, unless the same pairs of it are held out for dev."""
    for kept, learned in product(dev, train):
        if kept.same_text(learned) and kept.hold_out is None:
            raise ConfigError(
                f"{kept.path or kept.source} is in data.train and in data.dev, so that the dev set would be trained "
                "on: name another file in data.dev, or set hold_out = 150 and context = false in both"
            )
    check_held_out_alike(train, dev)


@dataclass(frozen=True)
class Data:
    """What is read, and where the prepared shards go."""

    folder: Path = Path("prepared")
    train: tuple[Corpus, ...] = ()
    dev: tuple[Corpus, ...] = ()
    source_text: Literal["spoken", "written"] = "spoken"
    """`spoken` is normalised to what a recogniser gives; `written` keeps case and punctuation."""

    def __post_init__(self) -> None:
        check_held_out_alike(self.train, self.dev)


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
