"""The streams of a test set, written as files: a sentence a line, source and reference apart."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from turia.config import SweepRecipe, SweepTest, file_name
from turia.errors import FormatError
from turia.formats.documents import read
from turia.system.files import write_file


@dataclass(frozen=True)
class SweptTest:
    """A test set as files, a pair for each stream."""

    name: str
    folder: Path
    sources: tuple[Path, ...]
    references: tuple[Path, ...]
    source_words: int
    sentences: int
    sha256: str


def write_streams(test: SweepTest, recipe: SweepRecipe, source_language: str, target_language: str) -> SweptTest:
    """Writes the streams of a test set; sentences without a source have no latency and are refused."""
    pairs: list[list[tuple[str, str]]] = []
    for document in read(test.corpus, source_language, target_language, held_out=True):
        if not pairs or recipe.streams == "documents":
            pairs.append([])
        pairs[-1] += zip(map(_one_line, document.source), map(_one_line, document.target), strict=True)
    pairs = _first(pairs, recipe.sentences)
    if not pairs:
        raise FormatError("no sentences", test.corpus.path or test.corpus.source)
    if not all(source for stream in pairs for source, _ in stream):
        raise FormatError("a sentence without source words has no latency; drop it", test.corpus.path)
    folder = recipe.folder / file_name(test.name)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    files: tuple[list[Path], list[Path]] = ([], [])
    for number, stream in enumerate(pairs):
        for side, suffix in enumerate(("source", "reference")):
            path = folder / f"{number:03}.{suffix}"
            content = "".join(f"{pair[side]}\n" for pair in stream).encode()
            digest.update(b"%d %d\n" % (side, len(content)) + content)
            write_file(path, content)
            files[side].append(path)
    words = sum(len(source.split()) for stream in pairs for source, _ in stream)
    sentences = sum(map(len, pairs))
    return SweptTest(test.name, folder, tuple(files[0]), tuple(files[1]), words, sentences, digest.hexdigest())


def _first(streams: list[list[tuple[str, str]]], sentences: int) -> list[list[tuple[str, str]]]:
    """The first `sentences` of all streams together; 0 takes all."""
    if not sentences:
        return streams
    rest = iter([(number, pair) for number, stream in enumerate(streams) for pair in stream])
    kept: list[list[tuple[str, str]]] = [[] for _ in streams]
    for number, pair in islice(rest, sentences):
        kept[number].append(pair)
    return [stream for stream in kept if stream]


def _one_line(text: str) -> str:
    return " ".join(text.split())
