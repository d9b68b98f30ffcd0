"""What is done to one chunk of documents: it is cleaned, then encoded. `prepare.py` does it to many at once.

A cleaned chunk is a text file: a line of JSON (`ChunkHead`), then one line a pair: document, index in its
document, length of its document, source, target, parted by tabs. Dropped pairs are missing from it, and the
indices tell where.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.config import Corpus, Filters, Windows
from turia.corpus import filters as rules
from turia.corpus.filters import LanguageFilter, Reason
from turia.corpus.shards import CLOSES, OPENS, WINDOW, Part, PartSide, id_type
from turia.corpus.windows import Lengths, consecutive, fits, sliding
from turia.formats.documents import Document
from turia.text.normalise import clean, normalise, part_joined_words
from turia.text.subwords import Subwords


class Pair(NamedTuple):
    """A cleaned sentence pair and its place; words are parted by single spaces."""

    document: int
    """Number of its document in the chunk."""
    place: int
    """Its index in the document as it was read, dropped pairs counted."""
    length: int
    """Pairs of the document as it was read."""
    source: str
    target: str


@dataclass(frozen=True)
class ChunkHead:
    """What cleaning did."""

    corpus: int
    read: int
    kept: int
    dropped: dict[str, int]
    documents: int = 0
    """As they were read; without context every pair is one."""


@dataclass(frozen=True)
class Cleaner:
    """Normalises and filters. Without `filters` only pairs with an empty side are dropped (dev sets)."""

    languages: tuple[str, str]
    filters: Filters | None
    identify: LanguageFilter | None
    written: bool = False
    """Whether the source keeps its case and its punctuation."""

    def pairs(self, documents: Iterable[Document], dropped: Counter[str]) -> Iterator[Pair]:
        """The pairs that stay; `dropped` counts the others by reason."""
        for number, document in enumerate(documents):
            length = len(document.source)
            for place, (source, target) in enumerate(zip(document.source, document.target, strict=True)):
                source_words = clean(source) if self.written else normalise(part_joined_words(source))
                target_words = clean(target)
                reason = self._reason(source, target, len(source_words), len(target_words))
                if reason is None:
                    yield Pair(number, place, length, " ".join(source_words), " ".join(target_words))
                else:
                    dropped[reason] += 1

    def _reason(self, source: str, target: str, source_words: int, target_words: int) -> Reason | None:
        """Why a pair is dropped; the cheap questions first."""
        if not source_words or not target_words:
            return "length"
        if self.filters is None:
            return None
        if rules.drop_by_length(source_words, target_words, self.filters):
            return "length"
        if rules.drop_by_ratio(source_words, target_words, self.filters):
            return "ratio"
        if rules.is_unreadable(source) or rules.is_unreadable(target):
            return "unreadable"
        if self.identify is not None and any(map(self.identify.is_other, (source, target), self.languages)):
            return "language"
        return None


def write_chunk(path: Path, head: ChunkHead, pairs: Iterable[Pair]) -> None:
    """The text file of a cleaned chunk."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(asdict(head)) + "\n")
        file.writelines("\t".join(map(str, pair)) + "\n" for pair in pairs)


def read_head(path: Path) -> ChunkHead:
    with path.open(encoding="utf-8") as file:
        return ChunkHead(**json.loads(file.readline()))


def read_pairs(path: Path) -> Iterator[Pair]:
    with path.open(encoding="utf-8", newline="\n") as file:
        file.readline()
        for line in file:
            document, place, length, source, target = line.rstrip("\n").split("\t")
            yield Pair(int(document), int(place), int(length), source, target)


@dataclass(frozen=True)
class Encoder:
    """Cleaned pairs → sentences in pieces, and samples."""

    source: Subwords
    target: Subwords
    windows: Windows
    max_positions: int
    corpus: Corpus

    def part(self, pairs: Sequence[Pair], repeated: npt.NDArray[np.bool_]) -> Part:
        """The part of a chunk. `repeated` marks pairs that have occurred often enough before.

        A repeated pair is not drawn as a single sentence, but it stays in the windows of its document, where it is
        true history. A corpus without windows drops it.
        """
        with_windows = cuts_windows(self.corpus, self.windows)
        rows = [
            encoded
            for pair, again in zip(pairs, repeated.tolist(), strict=True)
            if (with_windows or not again) and (encoded := self._encode(pair, again)) is not None
        ]
        samples = [(i, 1, _flags(row.pair, row.pair)) for i, row in enumerate(rows) if not row.repeated]
        if with_windows:
            samples += self._window_samples(rows)
        return Part(
            np.tile(np.array(samples, dtype=np.int32).reshape(-1, 3), (self.corpus.repeat, 1)),
            _side([row.source for row in rows], len(self.source)),
            _side([row.target for row in rows], len(self.target)),
        )

    def _encode(self, pair: Pair, repeated: bool) -> _Encoded | None:
        """None if the pair is longer than the model has positions."""
        source = [self.source.encode_word(word) for word in pair.source.split(" ")]
        target = [self.target.encode_word(word) for word in pair.target.split(" ")]
        lengths = Lengths(len(source), len(target), sum(map(len, source)), sum(map(len, target)))
        if not fits([lengths], self.max_positions):
            return None
        return _Encoded(pair, repeated, source, target, lengths)

    def _window_samples(self, rows: Sequence[_Encoded]) -> Iterator[tuple[int, int, int]]:
        cut = consecutive if self.windows.kind == "consecutive" else sliding
        for begin, end in adjacent_runs([row.pair for row in rows]):
            run = [row.lengths for row in rows[begin:end]]
            for first, last in cut(run, self.windows.history, self.max_positions):
                flags = WINDOW | _flags(rows[begin + first].pair, rows[begin + last].pair)
                yield begin + first, last - first + 1, flags


def cuts_windows(corpus: Corpus, windows: Windows) -> bool:
    """Whether history windows are cut from the corpus."""
    return corpus.context and windows.history > 0


def adjacent_runs(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """[begin, end) of the runs of pairs that followed each other in one document."""
    begin = 0
    for i in range(1, len(pairs) + 1):
        if i == len(pairs) or pairs[i].document != pairs[i - 1].document or pairs[i].place != pairs[i - 1].place + 1:
            if i > begin:
                yield begin, i
            begin = i


class _Encoded(NamedTuple):
    pair: Pair
    repeated: bool
    source: list[tuple[int, ...]]
    target: list[tuple[int, ...]]
    lengths: Lengths


def _flags(first: Pair, last: Pair) -> int:
    return (OPENS if first.place == 0 else 0) | (CLOSES if last.place == last.length - 1 else 0)


def _side(sentences: Sequence[Sequence[tuple[int, ...]]], vocabulary: int) -> PartSide:
    return PartSide(
        ids=np.array([i for words in sentences for word in words for i in word], dtype=id_type(vocabulary)),
        pieces=np.array([len(word) for words in sentences for word in words], dtype=np.uint16),
        words=np.array([len(words) for words in sentences], dtype=np.int32),
    )
