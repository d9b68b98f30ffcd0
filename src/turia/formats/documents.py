"""Readers: parallel files of several formats in, documents out.

A document is a run of sentence pairs in the order they were spoken. Text comes out as it was written,
unnormalised; an empty side stays an empty string, so that both sides keep in step. Files ending in `.xz` or
`.gz` are unpacked on the way. Every complaint names file and line. Nothing here looks at what the words say.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import IO

from lxml import etree

from turia.config import Corpus
from turia.errors import ConfigError, FormatError
from turia.text.counted import counted


@dataclass(frozen=True)
class Document:
    """Sentence pairs in order; `source[i]` and `target[i]` are translations of each other."""

    id: str
    source: list[str]
    target: list[str]


def read(corpus: Corpus, source_language: str, target_language: str, held_out: bool = False) -> Iterator[Document]:
    """The documents of a corpus, in file order; without context every pair is a document of its own.

    Where the corpus holds pairs out, those that are `held_out`, or the others.
    """
    for document in _read_format(corpus, source_language, target_language):
        if corpus.hold_out is not None:
            texts = document.source if _is_later(corpus, source_language, target_language) else document.target
            for source, target, text in zip(document.source, document.target, texts, strict=True):
                if is_held_out(text, corpus.hold_out) == held_out:
                    yield Document(document.id, [source], [target])
        elif corpus.context:
            yield document
        else:
            for source, target in zip(document.source, document.target, strict=True):
                yield Document(document.id, [source], [target])


def _is_later(corpus: Corpus, source_language: str, target_language: str) -> bool:
    """Whether the source is the later column: both directions of a corpus must hold out by the same text."""
    if corpus.format == "tsv":
        return corpus.columns.index(source_language) > corpus.columns.index(target_language)
    return source_language > target_language  # files have no columns


def is_held_out(text: str, one_in: int) -> bool:
    """Whether a pair with this text is one of those that training never sees. Its case does not matter."""
    return int.from_bytes(blake2b(text.lower().encode(), digest_size=8).digest(), "little") % one_in == 0


def _read_format(corpus: Corpus, source_language: str, target_language: str) -> Iterator[Document]:
    if corpus.format == "tsv":
        path = _required(corpus.path, "path", corpus)
        return read_tsv(path, corpus.columns, source_language, target_language)
    source, target = _required(corpus.source, "source", corpus), _required(corpus.target, "target", corpus)
    if corpus.format == "plain":
        return read_plain(source, target, corpus.documents)
    return read_xml(source, target)


def read_tsv(path: Path, columns: tuple[str, ...], source_language: str, target_language: str) -> Iterator[Document]:
    """Lines of `document<TAB>column<TAB>column...`; a document is a run of lines with one id."""
    for language in (source_language, target_language):
        if language not in columns:
            raise ConfigError(f"{path}: no column {language!r} among {', '.join(columns)}; set `columns` of the corpus")
    source_column, target_column = (1 + columns.index(name) for name in (source_language, target_language))

    def rows() -> Iterator[tuple[str, str, str]]:
        for number, line in _lines(path):
            fields = line.split("\t")
            if len(fields) != 1 + len(columns):
                raise FormatError(
                    f"expected {1 + len(columns)} fields parted by tabs (document, {', '.join(columns)}), "
                    f"found {len(fields)}",
                    path,
                    number,
                )
            yield fields[0], fields[source_column].strip(), fields[target_column].strip()

    return _runs(rows())


def read_plain(source: Path, target: Path, documents: Path | None = None) -> Iterator[Document]:
    """Files in step, a sentence a line. `documents` names the document of each; without it blank lines part them."""
    if documents is not None:
        return _runs((name, left, right) for name, left, right in _in_step((documents, source, target)))

    def rows() -> Iterator[tuple[str, str, str]]:
        document = 1
        for left, right in _in_step((source, target)):
            if left or right:
                yield str(document), left, right
            else:
                document += 1

    return _runs(rows())


def read_xml(source: Path, target: Path) -> Iterator[Document]:
    """TED/IWSLT: `<doc docid=..><seg id=..>` files, or training files with `<talkid>` lines between talks."""
    for number, (left, right) in enumerate(zip_longest(_xml_side(source), _xml_side(target)), start=1):
        if left is None or right is None:
            short, other = (source, target) if left is None else (target, source)
            raise FormatError(f"has {counted(number - 1, 'document')}, but {other.name} has more", short)
        if left.id != right.id:
            raise FormatError(f"document {right.id!r}, where {source.name} has {left.id!r}", target, right.line)
        if len(left.sentences) != len(right.sentences):
            raise FormatError(
                f"document {right.id!r} has {counted(len(right.sentences), 'sentence')}, "
                f"but {len(left.sentences)} in {source.name}",
                target,
                right.line,
            )
        yield Document(left.id, left.sentences, right.sentences)


def read_monolingual(path: Path) -> Iterator[tuple[str, str]]:
    """(id, text) of a file of `id<TAB>text` lines, a document each; blank lines are none."""
    for number, line in _lines(path):
        if not line.strip():
            continue
        name, tab, text = line.partition("\t")
        if not tab:
            raise FormatError("expected `id<TAB>text`, found no tab", path, number)
        yield name, text


@dataclass(frozen=True)
class _Side:
    """One language of an XML document."""

    id: str
    line: int
    sentences: list[str]


def _xml_side(path: Path) -> Iterator[_Side]:
    with _damage_said(path), _open(path) as file:
        head = file.read(1 << 16)
    # The training files are lines between tags, with no root and bare ampersands: no XML parser takes them.
    return _segments(path) if re.search(rb"<seg\b", head, re.IGNORECASE) else _tagged(path)


def _segments(path: Path) -> Iterator[_Side]:
    """`<seg>` elements. Files in the wild are broken here and there; nothing is loaded from outside."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    with _damage_said(path), _open(path) as file:
        content = file.read(MOST_OF_XML + 1)
    if len(content) > MOST_OF_XML:
        raise FormatError(f"more than {MOST_OF_XML} bytes of XML", path)
    # What looks like no entity is an ampersand; recovery alone would drop it.
    content = re.sub(rb"&(?!#?\w+;)", b"&amp;", content)
    tree = etree.fromstring(content, parser)
    if tree is None:
        raise FormatError("not XML", path, 1)
    for document in tree.iter("doc", "DOC"):
        name = document.get("docid")
        if name is None:
            raise FormatError("a <doc> without docid", path, document.sourceline)
        sentences = [" ".join("".join(seg.itertext()).split()) for seg in document.iter("seg", "SEG")]
        yield _Side(name, document.sourceline, sentences)


_TAG = re.compile(
    r"<(/?)(url|keywords|speaker|talkid|title|description|reviewer|translator|transcript|doc|body|head)\b([^>]*)>(.*)",
    re.IGNORECASE,
)


def _tagged(path: Path) -> Iterator[_Side]:
    """A block of tag lines heads each talk; any other line is a sentence. A talk has talkid, docid or url."""
    names: dict[str, str] = {}
    start = 1
    sentences: list[str] = []
    for number, line in _lines(path):
        tag = _TAG.match(line.strip())
        if tag is None:
            if not names:
                raise FormatError("a sentence before the first <url>, <talkid> or <doc> line", path, number)
            sentences.append(line.strip())
            continue
        if sentences:
            yield _Side(_talk_name(names, path, start), start, sentences)
            names, sentences, start = {}, [], number
        closing, kind, attributes, rest = tag.groups()
        if not closing:
            docid = re.search(r'docid="([^"]*)"', attributes)
            names[kind.lower()] = docid[1] if docid else rest.split("<")[0].strip()
    if sentences:
        yield _Side(_talk_name(names, path, start), start, sentences)


def _talk_name(names: dict[str, str], path: Path, line: int) -> str:
    for kind in ("talkid", "doc", "url"):
        if names.get(kind):
            return names[kind]
    raise FormatError("a talk without <talkid>, <doc docid=..> or <url>", path, line)


def _runs(rows: Iterable[tuple[str, str, str]]) -> Iterator[Document]:
    """Rows of (document, source, target) as documents: runs of one id."""
    document: Document | None = None
    for name, source, target in rows:
        if document is None or document.id != name:
            if document is not None:
                yield document
            document = Document(name, [], [])
        document.source.append(source)
        document.target.append(target)
    if document is not None:
        yield document


def _in_step(paths: tuple[Path, ...]) -> Iterator[tuple[str, ...]]:
    """The lines of files that must have equally many."""
    for number, lines in enumerate(zip_longest(*map(_lines, paths)), start=1):
        if None in lines:
            longer = paths[next(i for i, line in enumerate(lines) if line is not None)]
            raise FormatError(f"ends before line {number}, but {longer.name} goes on", paths[lines.index(None)], number)
        yield tuple(text.strip() for _, text in lines)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line) without line ends. Lines end at line feeds alone: text may hold other separators."""
    number = 0
    try:
        with _open(path) as file:
            # Not all of a line at once: a few kilobytes of an archive may be gigabytes without an end of line.
            for number, line in enumerate(iter(lambda: file.readline(MOST_OF_A_LINE + 1), b""), start=1):
                if len(line) > MOST_OF_A_LINE:
                    raise FormatError(f"a line of more than {MOST_OF_A_LINE} bytes", path, number)
                yield number, line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start + 1} of the line", path, number) from error
    except _DAMAGED as error:
        raise FormatError(f"damaged archive: {error}", path, number + 1) from error


MOST_OF_A_LINE, MOST_OF_XML = 16 * 2**20, 2**28
"""Bytes. Archives say nothing of how much is in them."""
_DAMAGED = (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)
"""What unpacking raises."""


@contextmanager
def _damage_said(path: Path) -> Iterator[None]:
    """For whoever reads a file as a whole; of lines, `_lines` knows which."""
    try:
        yield
    except _DAMAGED as error:
        raise FormatError(f"damaged archive: {error}", path) from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    try:
        if path.suffix == ".xz":
            return lzma.open(path, "rb")
        if path.suffix == ".gz":
            return gzip.open(path, "rb")
        return path.open("rb")
    except OSError as error:
        raise FormatError(f"cannot read the corpus: {error.strerror}", path) from error


def _required(path: Path | None, key: str, corpus: Corpus) -> Path:
    if path is None:
        raise ConfigError(f"a corpus of format {corpus.format!r} needs the key {key!r}")
    return path
