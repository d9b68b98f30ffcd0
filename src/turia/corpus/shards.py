"""Prepared data on disk, mapped into memory without copying.

    folder/
      meta.json                 format version, languages, sizes, gamma, digests of recipe and subwords
      samples.npy               [M, 3] int32: first sentence, number of sentences, flags
      source.ids.npy            [P] uint16 or uint32: pieces of all sentences, one after the other
      source.offsets.npy        [N + 1] int64: sentence i has the pieces from offsets[i] on
      source.pieces.npy         [W] uint16: pieces of each word
      source.word_offsets.npy   [N + 1] int64: sentence i has the words from word_offsets[i] on
      target.*                  the same four

Rules: a sentence is stored once, without special symbols; samples point at sentences, and training puts the
symbols in (`text/layout.py`). A sample's sentences lie next to each other. A folder is complete or not there:
it is written under another name and renamed.

Letters: N sentences, M samples, P pieces, W words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ConfigError, FormatError
from turia.schema import from_dict
from turia.system.files import read_json
from turia.text.layout import Sentence
from turia.text.subwords import Subwords

VERSION = 1

OPENS, CLOSES, WINDOW = 1, 2, 4
"""Flags of a sample: its first sentence begins its document; its last one ends it; it is a history window."""

_SIDES = ("source", "target")
_PARTS = ("ids", "offsets", "pieces", "word_offsets")
_Array = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Sizes:
    """How much some parts hold together."""

    sentences: int = 0
    windows: int = 0
    samples: int = 0
    source_words: int = 0
    target_words: int = 0
    source_pieces: int = 0
    target_pieces: int = 0

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Meta:
    """What a folder of shards says about itself."""

    version: int
    source_language: str
    target_language: str
    sizes: Sizes
    gamma: float
    """Target words per source word of the **training** corpus, in both train and dev."""
    history: int
    max_positions: int
    source_vocabulary: int
    target_vocabulary: int
    source_subwords: str
    """sha256 of the subword model."""
    target_subwords: str
    recipe: str
    """Digest of everything that decides these bytes."""


@dataclass(frozen=True)
class PartSide:
    """One language of a part."""

    ids: _Array
    """[p]"""
    pieces: _Array
    """[w] pieces of each word"""
    words: _Array
    """[n] words of each sentence"""

    def lengths(self) -> npt.NDArray[np.int64]:
        """[n] pieces of each sentence."""
        ends = np.cumsum(self.words, dtype=np.int64)
        before = np.r_[0, np.cumsum(self.pieces, dtype=np.int64)]
        return np.asarray(np.diff(before[np.r_[0, ends]]), dtype=np.int64)


@dataclass(frozen=True)
class Part:
    """Some sentences and their samples, as one worker encoded them. Samples count from the part's start."""

    samples: _Array
    """[m, 3]"""
    source: PartSide
    target: PartSide

    def save(self, path: Path) -> None:
        arrays = {f"{side}.{key}": array for side in _SIDES for key, array in vars(getattr(self, side)).items()}
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, samples=self.samples, **arrays)

    @classmethod
    def load(cls, path: Path) -> Part:
        with np.load(path, allow_pickle=False) as file:
            sides = [PartSide(*(file[f"{side}.{key}"] for key in ("ids", "pieces", "words"))) for side in _SIDES]
            return cls(file["samples"], *sides)


class Side:
    """One language of the sentences."""

    def __init__(self, folder: Path, name: str) -> None:
        self.ids, self.offsets, self.pieces, self.word_offsets = (
            _map(folder / f"{name}.{part}.npy") for part in _PARTS
        )

    def sentence(self, index: int) -> Sentence:
        """Views, not copies."""
        return Sentence(
            self.ids[self.offsets[index] : self.offsets[index + 1]],
            self.pieces[self.word_offsets[index] : self.word_offsets[index + 1]],
        )


class Shards:
    """A folder of prepared data."""

    def __init__(self, folder: Path) -> None:
        self.meta = read_meta(folder)
        self.source, self.target = Side(folder, "source"), Side(folder, "target")
        self.samples: npt.NDArray[np.int32] = _map(folder / "samples.npy")
        """[M, 3] first sentence, number of sentences, flags"""
        self._check(folder)

    @classmethod
    def open(cls, folder: Path) -> Shards:
        return cls(folder)

    def __len__(self) -> int:
        """Sentence pairs."""
        return self.meta.sizes.sentences

    def sentence(self, index: int) -> tuple[Sentence, Sentence]:
        """Pair `index`: source and target."""
        return self.source.sentence(index), self.target.sentence(index)

    def part(self, begin: int, end: int) -> Shards:
        """The same data with the samples of sentences [begin, end) alone."""
        part = copy(self)
        first = self.samples[:, 0]
        part.samples = self.samples[(first >= begin) & (first < end)]
        return part

    @property
    def source_lengths(self) -> npt.NDArray[np.int64]:
        """[N] pieces of each source sentence."""
        return np.asarray(np.diff(self.source.offsets), dtype=np.int64)

    @property
    def target_lengths(self) -> npt.NDArray[np.int64]:
        """[N] pieces of each target sentence."""
        return np.asarray(np.diff(self.target.offsets), dtype=np.int64)

    def _check(self, folder: Path) -> None:
        """Sizes agree with each other and with meta.json, so that a half-copied folder is found at once."""
        found: dict[str, int] = {}
        for name, side in (("source", self.source), ("target", self.target)):
            if not len(side.offsets) == len(side.word_offsets) == len(self) + 1:
                raise FormatError(f"{name}: expected {len(self)} sentences as in meta.json; {_AGAIN}", folder)
            if side.offsets[-1] != len(side.ids) or side.word_offsets[-1] != len(side.pieces):
                raise FormatError(f"{name}: offsets do not end where the data ends; {_AGAIN}", folder)
            found |= {f"{name}_words": len(side.pieces), f"{name}_pieces": len(side.ids)}
        for key, value in found.items():
            expected = getattr(self.meta.sizes, key)
            if expected != value:
                raise FormatError(f"{key} is {expected} in meta.json, but {value} here; {_AGAIN}", folder)
        if len(self.samples) and int((self.samples[:, 0] + self.samples[:, 1]).max()) > len(self):
            raise FormatError(f"a sample goes beyond the last sentence; {_AGAIN}", folder)


_JOINT, _SEPARATE = "subwords.model", ("source.subwords.model", "target.subwords.model")


def has_subwords(folder: Path) -> bool:
    """Whether `load_subwords` would find its files."""
    return (folder / _JOINT).exists() or all((folder / name).exists() for name in _SEPARATE)


def load_subwords(folder: Path) -> tuple[Subwords, Subwords]:
    """Source and target subwords of a data folder (the one that holds `train/`): one joint model, or two."""
    if (folder / _JOINT).exists():
        joint = Subwords.load(folder / _JOINT)
        return joint, joint
    source, target = (Subwords.load(folder / name) for name in _SEPARATE)
    return source, target


def save_subwords(folder: Path, source: Subwords, target: Subwords) -> None:
    """Writes one file if both sides share a model, else two."""
    if source is target:
        source.save(folder / _JOINT)
    else:
        for name, subwords in zip(_SEPARATE, (source, target), strict=True):
            subwords.save(folder / name)


_AGAIN = "delete the folder and run `turia prepare` again"


def read_meta(folder: Path) -> Meta:
    """`meta.json` of a folder."""
    path = folder / "meta.json"
    data = read_json(path, "prepared data; run `turia prepare` first", FormatError)
    if data.get("version") != VERSION:
        raise FormatError(f"expected prepared data of version {VERSION}; {_AGAIN}", path)
    try:
        return from_dict(Meta, data)
    except ConfigError as error:
        raise FormatError(str(error), path) from error


def measure(part: Part) -> Sizes:
    """What one part holds."""
    return Sizes(
        sentences=len(part.source.words),
        windows=int(np.count_nonzero(part.samples[:, 2] & WINDOW)),
        samples=len(part.samples),
        source_words=len(part.source.pieces),
        target_words=len(part.target.pieces),
        source_pieces=len(part.source.ids),
        target_pieces=len(part.target.ids),
    )


def write_shards(folder: Path, paths: Sequence[Path], meta: Meta) -> None:
    """Joins the parts, in the order given, into the new `folder`, one part in memory at a time."""
    folder.mkdir(parents=True)
    sizes = meta.sizes
    with ExitStack() as files:

        def create(name: str, dtype: npt.DTypeLike, *shape: int) -> _ArrayFile:
            return files.enter_context(_ArrayFile(folder / f"{name}.npy", np.dtype(dtype), shape))

        samples = create("samples", np.int32, sizes.samples, 3)
        writers = [
            _SideWriter(
                ids=create(f"{side}.ids", id_type(vocabulary), pieces),
                offsets=create(f"{side}.offsets", np.int64, sizes.sentences + 1),
                pieces=create(f"{side}.pieces", np.uint16, words),
                word_offsets=create(f"{side}.word_offsets", np.int64, sizes.sentences + 1),
            )
            for side, vocabulary, words, pieces in (
                ("source", meta.source_vocabulary, sizes.source_words, sizes.source_pieces),
                ("target", meta.target_vocabulary, sizes.target_words, sizes.target_pieces),
            )
        ]
        sentences = 0
        for path in paths:
            part = Part.load(path)
            samples.append(part.samples + np.array([sentences, 0, 0]))
            sentences += len(part.source.words)
            for writer, side in zip(writers, (part.source, part.target), strict=True):
                writer.append(side)
    (folder / "meta.json").write_text(json.dumps(asdict(meta), indent=2) + "\n", encoding="utf-8")


def id_type(vocabulary: int) -> np.dtype[np.unsignedinteger]:
    """The smallest type that holds the ids of a vocabulary."""
    return np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)


class _ArrayFile:
    """A `.npy` file written front to back: on a full disk that is an error; a mapped file would kill us."""

    def __init__(self, path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._dtype, self._rows, self._written = dtype, shape[0], 0
        self._file = path.open("wb")
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, rows: _Array) -> None:
        self._written += len(rows)
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).tobytes())

    def __enter__(self) -> _ArrayFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        assert kind is not None or self._written == self._rows, f"{self._written} rows of {self._rows}"


class _SideWriter:
    """Fills the four arrays of one side, part by part."""

    def __init__(self, ids: _ArrayFile, offsets: _ArrayFile, pieces: _ArrayFile, word_offsets: _ArrayFile) -> None:
        self._ids, self._offsets, self._pieces, self._word_offsets = ids, offsets, pieces, word_offsets
        self._last_piece = self._last_word = 0
        for array in (offsets, word_offsets):
            array.append(np.zeros(1, dtype=np.int64))

    def append(self, part: PartSide) -> None:
        self._ids.append(part.ids)
        self._pieces.append(part.pieces)
        self._offsets.append(self._last_piece + np.cumsum(part.lengths()))
        self._word_offsets.append(self._last_word + np.cumsum(part.words, dtype=np.int64))
        self._last_piece += len(part.ids)
        self._last_word += len(part.pieces)


def _map(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot map it: {error}; {_AGAIN}", path) from error
