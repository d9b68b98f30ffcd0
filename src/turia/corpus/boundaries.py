"""Samples for the segmenter: a word, what was said before it, what comes after it, and whether a sentence
ends there.

Letters: N ids of a stream, P past slots, F future slots, B samples; w = F.

A *stream* is sentences one after the other, document after document, as a live one would be. Its `words`
are ids with `pad` boundary symbols before the first word, between two streams and after the last one;
`ends` marks the last word of every sentence. A sample of word i is

    P past slots (words, and a boundary symbol after each sentence end) | word i | F words that follow

(METHOD section 5). Past boundaries are the true ones here; online they are the segmenter's own. Samples are
cut out by index arithmetic on the memory-mapped arrays: nothing is stored per sample.

A corpus line is a sentence, because that is what the translator is trained on. Running text without lines
(monolingual) is cut at its punctuation.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from turia.config import Corpus
from turia.corpus.monolingual import without_cues
from turia.formats import documents
from turia.text.normalise import normalise, part_joined_words
from turia.text.sentence_ends import sentences
from turia.text.vocabulary import BOUNDARY, UNHEARD, Vocabulary

Ids = npt.NDArray[np.uint16]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

SentenceWords = list[str]
DOCUMENTS_PER_STREAM = 10
"""So that the end of a stream, where future slots are padded, is seen often enough to be learned."""

_LEAST_LATIN = 0.9


@dataclass(frozen=True)
class LabelledStream:
    """`words` [N] and `ends` [N]; see the top of the file."""

    words: Ids
    ends: Flags

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}.words.npy", self.words)
        np.save(folder / f"{name}.ends.npy", self.ends)

    @classmethod
    def open(cls, folder: Path, name: str) -> LabelledStream:
        """The saved stream, memory-mapped."""
        words = np.load(folder / f"{name}.words.npy", mmap_mode="r", allow_pickle=False)
        ends = np.load(folder / f"{name}.ends.npy", mmap_mode="r", allow_pickle=False)
        return cls(words, ends)


@dataclass(frozen=True)
class WordStream:
    """A stream before its vocabulary is chosen: `types` [N] numbers word types from 1; 0 is padding."""

    types: npt.NDArray[np.uint32]
    ends: Flags
    names: tuple[str, ...]
    """Word type t is `names[t - 1]`."""

    def counts(self) -> dict[str, int]:
        """How often each word type occurs."""
        found = np.bincount(self.types, minlength=len(self.names) + 1)[1:]
        return dict(zip(self.names, found.tolist(), strict=True))

    def encode(self, vocabulary: Vocabulary) -> LabelledStream:
        """The stream in ids of `vocabulary`."""
        assert len(vocabulary) <= 1 << 16
        ids = np.array([BOUNDARY, *map(vocabulary.id, self.names)], dtype=np.uint16)
        return LabelledStream(ids[self.types], self.ends)


class Samples:
    """Cuts samples out of a stream; `indices` are the positions of its words, `splits` those that end a sentence."""

    def __init__(
        self,
        stream: LabelledStream,
        past: int,
        future: int,
        past_ends: Flags | None = None,
        usable: Flags | None = None,
    ) -> None:
        """`past_ends` [N] stand in the past in place of the true boundaries; `usable` [N] limits the words."""
        self.past, self.future = past, future
        self._words, self._ends = stream.words, stream.ends
        shown = stream.ends if past_ends is None else past_ends
        ends_before = np.cumsum(shown, dtype=np.int64) - shown
        # Where each id lies once a boundary symbol is put in after every sentence end.
        self._context_at = (np.arange(len(stream.words)) + ends_before).astype(np.int32)
        self._context = np.full(len(stream.words) + int(shown.sum()), BOUNDARY, dtype=np.uint16)
        self._context[self._context_at] = stream.words
        spoken = stream.words != BOUNDARY
        self.indices: Indices = np.flatnonzero(spoken if usable is None else spoken & usable)
        self.splits: Indices = self.indices[stream.ends[self.indices]]

    def ids(self, indices: Indices) -> npt.NDArray[np.int64]:
        """[B, P + 1 + F]: the window of each word in `indices` [B]."""
        context = self._context_at[indices][:, None] + np.arange(-self.past, 1)
        following = indices[:, None] + np.arange(1, self.future + 1)
        return np.concatenate((self._context[context], self.words_at(following)), axis=1).astype(np.int64)

    def labels(self, indices: Indices) -> npt.NDArray[np.int64]:
        """[B]: 1 where a sentence ends."""
        return self._ends[indices].astype(np.int64)

    def words_at(self, positions: Indices) -> npt.NDArray[np.int64]:
        """The ids at any positions; after the last word there is padding."""
        return self._words[np.minimum(positions, len(self._words) - 1)].astype(np.int64)

    def ends_at(self, positions: Indices) -> Flags:
        """Whether sentences end at any positions."""
        return self._ends[np.minimum(positions, len(self._ends) - 1)]

    def draw(self, size: int, split_share: float, rng: np.random.Generator) -> Indices:
        """[size] words at random: `split_share` of them splits, the rest any words (so some more splits)."""
        splits = round(size * split_share)
        chosen = rng.choice(self.splits, splits)
        return rng.permutation(np.concatenate((chosen, rng.choice(self.indices, size - splits))))


def hide_future(ids: npt.NDArray[np.int64], past: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """`ids` [B, P + 1 + F] with the last future slots of `share` of the rows unheard, a random number of
    slots each.

    Online a slot is unheard when one of the next w stream words says nothing (a lone dash).
    """
    rows, length = ids.shape
    future = length - past - 1
    heard = np.where(rng.random(rows) < share, rng.integers(0, max(future, 1), rows), future)
    hidden = np.arange(length) > past + heard[:, None]
    return np.where(hidden, UNHEARD, ids)


def word_stream(texts: Iterable[Iterable[SentenceWords]], pad: int) -> WordStream:
    """Documents of sentences of normalised words as one array; a new stream begins every few documents."""
    names: dict[str, int] = {}
    types, ends = array("I", [0] * pad), bytearray(pad)
    for number, document in enumerate(texts, start=1):
        for words in document:
            if not words:
                continue
            types.extend(names.setdefault(word, len(names) + 1) for word in words)
            ends.extend(bytes(len(words) - 1) + b"\x01")
        if number % DOCUMENTS_PER_STREAM == 0:
            types.extend([0] * pad)
            ends.extend(bytes(pad))
    types.extend([0] * pad)
    ends.extend(bytes(pad))
    return WordStream(np.array(types, dtype=np.uint32), np.frombuffer(ends, dtype=np.bool_), tuple(names))


def parallel_texts(corpus: Corpus, language: str, held_out: bool = False) -> Iterator[list[SentenceWords]]:
    """One side of a parallel corpus: documents of normalised sentences, a corpus line being a sentence."""
    for document in documents.read(corpus, language, language, held_out):
        yield [normalise(part_joined_words(line)) for line in document.source]


def monolingual_texts(path: Path, language: str) -> Iterator[list[SentenceWords]]:
    """Running texts, cut at their punctuation. Stage directions and texts in another script are left out."""
    for _, written in documents.read_monolingual(path):
        text = without_cues(written)
        if _latin_share(text) >= _LEAST_LATIN:
            cut = sentences(part_joined_words(text).split(), language)
            yield [normalise(" ".join(words)) for words in cut]


def _latin_share(text: str) -> float:
    letters = [letter for letter in text if letter.isalpha()]
    # Latin, with the accents of the languages of Europe, ends at U+024F.
    return sum(letter <= "\u024f" for letter in letters) / max(1, len(letters))
