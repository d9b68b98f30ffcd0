"""`turia prepare`: the corpora of a recipe → shards, with all cores.

Stages, each of which leaves files in `<data folder>/work-<digest>`:

1. *clean*: chunks of whole documents are normalised and filtered (`train-00000.tsv`, ...);
2. *learn*: repeats are found over all chunks, and subwords are learned from word counts;
3. *encode*: chunks become pieces, windows and samples (`train-00000.npz`, ...);
4. *join*: the parts become `train/` and `dev/`, and the work folder goes.

Rules: a chunk is decided by the recipe and the corpora alone, never by the number of processes, and stages 2
and 4 go through chunks in order; so the bytes are always the same. Files appear by renaming, whole: a run
that was interrupted goes on with what is there. The digest covers what decides the bytes (settings, and the
content of the corpora): the same recipe again has nothing to do, a changed one begins anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.config import Corpus, Filters, Recipe, SubwordSettings, Windows
from turia.corpus.backtranslated import check_marked
from turia.corpus.chunks import ChunkHead, Cleaner, Encoder, cuts_windows, read_head, read_pairs, write_chunk
from turia.corpus.filters import Dropped, LanguageFilter, pair_hash, repeats
from turia.corpus.report import CorpusReport, PrepareProgress, PrepareReport, corpus_names, read_report
from turia.corpus.shards import VERSION, Meta, Part, Sizes, load_subwords, measure, save_subwords, write_shards
from turia.errors import ConfigError
from turia.formats.documents import Document, read
from turia.schema import from_dict, to_dict
from turia.system.files import remove_leftovers, replacing, write_file
from turia.system.locks import alone_in
from turia.system.processes import TaskRunner, in_processes
from turia.text.counted import counted
from turia.text.known_words import take_words, write_words
from turia.text.normalise import NORMALISATION
from turia.text.subwords import Subwords, train_subwords

_PAIRS_PER_CHUNK = 4096
_STEPS_TOLD = 10
_RULES_VERSION = 2
"""Part of the digest. Raise it when the same corpora come out as other bytes."""

_DOUBTFUL_FROM, _DOUBTFUL_SHARE = 10, 0.95
"""A corpus with so many documents or more, and so many documents per pair or more, seems to number its lines in place
of its documents."""
_DOUBTFUL_LENGTH = 1000
"""A corpus with so many pairs to a document or more seems to give all its lines one id."""

Split = Literal["train", "dev"]
_SPLITS: tuple[Split, Split] = ("train", "dev")


def prepare(
    recipe: Recipe,
    progress: Callable[[PrepareProgress], None] | None = None,
    processes: int | None = None,
    spread: TaskRunner | None = None,
) -> PrepareReport:
    """Fills `recipe.data.folder`, or finds it filled. By default there is a process for each core; `spread` does the
    work elsewhere."""
    tell = progress or (lambda _: None)
    with alone_in(recipe.data.folder, "turia prepare", "finished chunks are kept"):
        chosen = spread or partial(in_processes, processes=processes or os.cpu_count() or 1)
        return _Preparation(recipe, tell, chosen).run()


@dataclass(frozen=True)
class _Chunk:
    """A chunk's place: `<split>-<number>`, and the corpus it comes from."""

    split: Split
    number: int
    corpus: int
    """Index into the split's corpora."""


class _Preparation:
    """One run of `prepare`; a method for each stage."""

    def __init__(self, recipe: Recipe, tell: Callable[[PrepareProgress], None], spread: TaskRunner) -> None:
        if not recipe.data.train:
            raise ConfigError("data.train is empty: expected at least one corpus")
        check_marked(recipe.data.train)
        self.recipe, self.tell, self.spread = recipe, tell, spread
        self.corpora: dict[Split, tuple[Corpus, ...]] = {"train": recipe.data.train, "dev": recipe.data.dev}
        self.languages = recipe.source_language, recipe.target_language
        self.folder = recipe.data.folder
        self.digest = digest(recipe)
        self.work = self.folder / f"work-{self.digest[:16]}"

    def run(self) -> PrepareReport:
        report = read_report(self.folder)
        if report is not None and report.digest == self.digest:
            shutil.rmtree(self.work, ignore_errors=True)  # killed at the very end, it would have stayed
            self.tell(PrepareProgress("done", note=f"{self.folder} is up to date: nothing to do"))
            return report
        if self.work.exists():
            self.tell(PrepareProgress("clean", note=f"going on with an interrupted preparation of {self.folder}"))
        elif report is not None:
            self.tell(
                PrepareProgress("clean", note=f"the recipe or its corpora have changed: preparing {self.folder} anew")
            )
        if self.recipe.filters.language:
            _language_filter(self.languages)  # refuses an unknown language here, not in a worker
        for stale in self.folder.glob("work-*"):
            if stale != self.work:
                shutil.rmtree(stale)
        remove_leftovers(self.folder)
        self.work.mkdir(parents=True, exist_ok=True)
        chunks = self.clean()
        self.learn(chunks)
        self.encode(chunks)
        return self.join(chunks)

    def clean(self) -> list[_Chunk]:
        """Stage 1. The list of chunks is written last: it says that all of them are there."""
        index = self.work / "chunks.json"
        if index.exists():
            return [from_dict(_Chunk, entry) for entry in json.loads(index.read_text(encoding="utf-8"))]
        chunks: list[_Chunk] = []

        written = self.recipe.data.source_text == "written"

        def tasks() -> Iterator[_CleanTask]:
            for split in _SPLITS:
                filters = self.recipe.filters if split == "train" else None
                for chunk, documents in _chunks(split, self.corpora[split], self.languages):
                    chunks.append(chunk)
                    path = self.path(chunk, "tsv")
                    if not path.exists():
                        yield _CleanTask(path, chunk.corpus, documents, self.languages, filters, written)

        pairs = 0
        for done, pairs_read in enumerate(self.spread(_clean, tasks()), start=1):
            pairs += pairs_read
            self.step("clean", done, None, f"{pairs} pairs")
        write_file(index, json.dumps([asdict(chunk) for chunk in chunks]))
        return chunks

    def learn(self, chunks: Sequence[_Chunk]) -> None:
        """Stage 2. The repeats are written last: they say that the subwords are there."""
        done = self.work / "repeats.npy"
        if done.exists():
            return
        training = [self.path(chunk, "tsv") for chunk in chunks if chunk.split == "train"]
        settings = self.recipe.subwords
        step = max(1, -(-sum(read_head(path).kept for path in training) // settings.sentences))
        hashes = array("Q")
        source: Counter[str] = Counter()
        target: Counter[str] = Counter()
        for number, path in enumerate(training, start=1):
            for pair in read_pairs(path):
                if len(hashes) % step == 0:
                    source.update(pair.source.split(" "))
                    target.update(pair.target.split(" "))
                hashes.append(pair_hash(pair.source, pair.target))
            self.step("learn", number, len(training))

        def learned(counts: Counter[str]) -> Subwords:
            return train_subwords(
                counts, settings.vocabulary, split_digits=settings.split_digits, space_first=settings.space_first
            )

        if settings.reuse is not None:
            save_subwords(self.work, *_reused(settings))
        elif settings.joint:
            joint = learned(source + target)
            save_subwords(self.work, joint, joint)
        else:
            save_subwords(self.work, learned(source), learned(target))
        write_words(self.work, source, target)
        repeated = repeats(np.frombuffer(hashes, dtype=np.uint64), self.recipe.filters.duplicates)
        with replacing(done) as new, new.open("wb") as file:
            np.save(file, repeated, allow_pickle=False)

    def encode(self, chunks: Sequence[_Chunk]) -> None:
        """Stage 3."""
        tasks = [
            _EncodeTask(
                self.path(chunk, "tsv"),
                self.path(chunk, "npz"),
                repeated,
                self.corpora[chunk.split][chunk.corpus],
                self.recipe.windows,
                self.recipe.model.max_positions,
            )
            for chunk, repeated in self.with_repeats(chunks)
            if not self.path(chunk, "npz").exists()
        ]
        for done, _ in enumerate(self.spread(_encode, tasks), start=1):
            self.step("encode", done, len(tasks))

    def join(self, chunks: Sequence[_Chunk]) -> PrepareReport:
        """Stage 4. `report.json` goes first and comes last: a folder that has one is complete."""
        corpora, doubts = self.corpus_reports(chunks), self.doubtful_documents(chunks)
        train, dev = (sum((corpus.sizes for corpus in corpora if corpus.split == split), Sizes()) for split in _SPLITS)
        if not train.sentences:
            raise ConfigError(
                "no training pair is left; each filter has dropped: " + "; ".join(c.line() for c in corpora)
            )
        source, target = load_subwords(self.work)
        report = PrepareReport(
            digest=self.digest,
            corpora=corpora,
            train=train,
            dev=dev,
            gamma=self.gamma(corpora),
            source_vocabulary=len(source),
            target_vocabulary=len(target),
        )
        (self.folder / "report.json").unlink(missing_ok=True)
        for split, sizes in zip(_SPLITS, (train, dev), strict=True):
            self.join_split(split, chunks, self.meta(report, sizes, source, target))
        for stale in self.folder.glob("*subwords.model"):
            stale.unlink()
        save_subwords(self.folder, source, target)
        take_words(self.work, self.folder)
        write_file(self.folder / "report.json", report.to_json())
        shutil.rmtree(self.work)
        self.step("join", len(chunks), len(chunks))
        for doubt in doubts:
            self.tell(PrepareProgress("join", note=doubt))
        return report

    def doubtful_documents(self, chunks: Sequence[_Chunk]) -> list[str]:
        """Warnings for corpora whose ids seem not to be documents: of those that number lines, windows have no history;
        of those with one id for everything, lines that have nothing to do with each other become each other's history.
        """
        read: Counter[tuple[Split, int]] = Counter()
        documents: Counter[tuple[Split, int]] = Counter()
        for chunk in chunks:
            head = read_head(self.path(chunk, "tsv"))
            read[chunk.split, chunk.corpus] += head.read
            documents[chunk.split, chunk.corpus] += head.documents
        doubts = []
        for split in _SPLITS:
            for number, name in enumerate(corpus_names(self.corpora[split])):
                if not cuts_windows(self.corpora[split][number], self.recipe.windows):
                    continue
                pairs, found = read[split, number], documents[split, number]
                many = f"{split} {name}: {counted(found, 'document')} for {counted(pairs, 'pair')}"
                if found >= max(_DOUBTFUL_FROM, _DOUBTFUL_SHARE * pairs):
                    doubts.append(
                        f"{many}, so its windows have no history; if its ids number lines and not documents, set "
                        "context = false"
                    )
                elif found and pairs >= _DOUBTFUL_LENGTH * found:
                    doubts.append(
                        f"{many}, so each line is the history of the next; if its lines do not follow one another, set "
                        "context = false"
                    )
        return doubts

    def gamma(self, corpora: Sequence[CorpusReport]) -> float:
        """Target words to a source word, a corpus counted as often as it is trained on."""
        learned = [corpus.sizes for corpus in corpora if corpus.split == "train"]
        weighed = list(zip(learned, (corpus.repeat for corpus in self.corpora["train"]), strict=True))
        target = sum(sizes.target_words * repeat for sizes, repeat in weighed)
        return round(target / sum(sizes.source_words * repeat for sizes, repeat in weighed), 4)

    def join_split(self, split: Split, chunks: Sequence[_Chunk], meta: Meta) -> None:
        """`train/` or `dev/` from its parts; a recipe without dev corpora has no `dev/`."""
        place = self.folder / split
        # Before the new one is written: not every disk has room for both.
        shutil.rmtree(place, ignore_errors=True)
        if meta.sizes.sentences:
            with replacing(place) as new:
                write_shards(new, [self.path(chunk, "npz") for chunk in chunks if chunk.split == split], meta)

    def meta(self, report: PrepareReport, sizes: Sizes, source: Subwords, target: Subwords) -> Meta:
        return Meta(
            version=VERSION,
            source_language=self.recipe.source_language,
            target_language=self.recipe.target_language,
            sizes=sizes,
            gamma=report.gamma,
            history=self.recipe.windows.history,
            max_positions=self.recipe.model.max_positions,
            source_vocabulary=len(source),
            target_vocabulary=len(target),
            source_subwords=hashlib.sha256(source.model).hexdigest(),
            target_subwords=hashlib.sha256(target.model).hexdigest(),
            recipe=self.digest,
        )

    def corpus_reports(self, chunks: Sequence[_Chunk]) -> tuple[CorpusReport, ...]:
        """What cleaning and encoding did, added up for each corpus."""
        reports = {
            (split, number): CorpusReport(name, split, 0, Dropped(), Sizes())
            for split in _SPLITS
            for number, name in enumerate(corpus_names(self.corpora[split]))
        }
        for chunk, repeated in self.with_repeats(chunks):
            head, sizes = read_head(self.path(chunk, "tsv")), measure(Part.load(self.path(chunk, "npz")))
            corpus = self.corpora[chunk.split][chunk.corpus]
            repeats_stay = cuts_windows(corpus, self.recipe.windows)
            duplicates = 0 if repeats_stay else int(repeated.sum())
            encoding = Dropped(duplicate=duplicates, positions=head.kept - duplicates - sizes.sentences)
            report = reports[chunk.split, chunk.corpus]
            reports[chunk.split, chunk.corpus] = replace(
                report,
                read=report.read + head.read,
                dropped=report.dropped + Dropped(**head.dropped) + encoding,
                sizes=report.sizes + sizes,
                repeats=report.repeats + (int(repeated.sum()) if repeats_stay else 0),
            )
        return tuple(reports.values())

    def with_repeats(self, chunks: Sequence[_Chunk]) -> Iterator[tuple[_Chunk, npt.NDArray[np.bool_]]]:
        """Each chunk with the marks of its pairs; a dev set may repeat itself."""
        repeated = np.load(self.work / "repeats.npy", allow_pickle=False)
        begin = 0
        for chunk in chunks:
            kept = read_head(self.path(chunk, "tsv")).kept
            if chunk.split == "train":
                yield chunk, repeated[begin : begin + kept]
                begin += kept
            else:
                yield chunk, np.zeros(kept, dtype=bool)
        assert begin == len(repeated)

    def step(self, stage: str, done: int, total: int | None, detail: str = "") -> None:
        """Tells of one step in ten: without a terminal, each is a line of the log."""
        if done % _STEPS_TOLD == 0 or done == total:
            self.tell(PrepareProgress(stage, done, total, detail))

    def path(self, chunk: _Chunk, kind: str) -> Path:
        return self.work / f"{chunk.split}-{chunk.number:05d}.{kind}"


def digest(recipe: Recipe) -> str:
    """sha256 over all that decides the bytes of the shards. Where files lie does not; what they hold does."""
    decisive = {
        # The first rules of normalisation are not in the digests of the data that they have made.
        "version": [VERSION, _RULES_VERSION, *([NORMALISATION] if NORMALISATION > 1 else [])],
        "languages": [recipe.source_language, recipe.target_language],
        **({"source_text": "written"} if recipe.data.source_text == "written" else {}),
        "train": [_identity(corpus) for corpus in recipe.data.train],
        "dev": [_identity(corpus) for corpus in recipe.data.dev],
        "filters": to_dict(recipe.filters),
        "subwords": _subwords_identity(recipe.subwords),
        "windows": [recipe.windows.history, recipe.windows.kind],
        "max_positions": recipe.model.max_positions,
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


class _CleanTask(NamedTuple):
    path: Path
    corpus: int
    documents: list[Document]
    languages: tuple[str, str]
    filters: Filters | None
    written: bool


class _EncodeTask(NamedTuple):
    pairs: Path
    part: Path
    repeated: npt.NDArray[np.bool_]
    corpus: Corpus
    windows: Windows
    max_positions: int


def _clean(task: _CleanTask) -> int:
    """Work of one process: a chunk's documents → its text file. Returns the pairs read."""
    identifies = task.filters is not None and task.filters.language
    identify = _language_filter(task.languages) if identifies else None
    cleaner = Cleaner(task.languages, task.filters, identify, task.written)
    dropped: Counter[str] = Counter()
    pairs = list(cleaner.pairs(task.documents, dropped))
    read = sum(len(document.source) for document in task.documents)
    head = ChunkHead(task.corpus, read, len(pairs), dict(dropped), len(task.documents))
    with replacing(task.path) as new:
        write_chunk(new, head, pairs)
    return read


def _encode(task: _EncodeTask) -> None:
    """Work of one process: a chunk's text file → its part."""
    source, target = _subwords(task.pairs.parent)
    encoder = Encoder(source, target, task.windows, task.max_positions, task.corpus)
    part = encoder.part(list(read_pairs(task.pairs)), task.repeated)
    with replacing(task.part) as new:
        part.save(new)


@lru_cache(maxsize=1)
def _language_filter(languages: tuple[str, str]) -> LanguageFilter:
    return LanguageFilter(languages)


@lru_cache(maxsize=1)
def _subwords(folder: Path) -> tuple[Subwords, Subwords]:
    return load_subwords(folder)


def _chunks(
    split: Split, corpora: Sequence[Corpus], languages: tuple[str, str]
) -> Iterator[tuple[_Chunk, list[Document]]]:
    """Whole documents, gathered until a chunk is full; a chunk never holds two corpora."""
    number = 0
    for corpus, settings in enumerate(corpora):
        documents: list[Document] = []
        pairs = 0
        for document in read(settings, *languages, held_out=split == "dev"):
            documents.append(document)
            pairs += len(document.source)
            if pairs >= _PAIRS_PER_CHUNK:
                yield _Chunk(split, number, corpus), documents
                number, documents, pairs = number + 1, [], 0
        if documents:
            yield _Chunk(split, number, corpus), documents
            number += 1


def _identity(corpus: Corpus) -> dict[str, Any]:
    """A corpus by its settings and by the content of its files."""
    settings = to_dict(dataclasses.replace(corpus, licence=None, synthetic=None))
    for key in ("path", "source", "target", "documents"):
        path = getattr(corpus, key)
        if path is not None:
            try:
                with path.open("rb") as file:
                    settings[key] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise ConfigError(f"{path}: cannot read the corpus: {error.strerror}") from error
    return settings


def _subwords_identity(settings: SubwordSettings) -> dict[str, Any]:
    """Subwords by how they are learned, or by what they are."""
    if settings.reuse is None:
        identity = to_dict(settings)
        for added in ("split_digits", "space_first"):
            if not identity[added]:  # not in the digests of data that was prepared before it was an option
                del identity[added]
        return identity
    return {"reuse": [hashlib.sha256(side.model).hexdigest() for side in _reused(settings)]}


def _reused(settings: SubwordSettings) -> tuple[Subwords, Subwords]:
    assert settings.reuse is not None
    source, target = load_subwords(settings.reuse)
    if (source is target) != settings.joint:
        has = "one model for both languages" if source is target else "a model for each language"
        raise ConfigError(f"subwords.joint is {settings.joint}, but {settings.reuse} has {has}")
    return source, target
