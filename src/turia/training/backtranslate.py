"""`turia backtranslate`: text in one language → a parallel corpus whose other side a model has written.

A model of the opposite direction translates the text. A new model then learns to translate what it wrote back into
what people wrote: the side that it learns to write is real, and in documents.

    folder/
      corpus.tsv.xz           document<TAB>translation<TAB>text as it was written; for `turia prepare`
      backtranslation.json    the report; it is there when the corpus is complete
      parts-<digest>/         while it is at work: a file for each group of documents

Rules: a part is decided by the text, the model and the settings alone, never by the number of processes. Files appear
by renaming, whole; so an interrupted translation goes on with what is there. A sentence whose translation is dropped
stays in the corpus with an empty translation: `turia prepare` drops such a pair, and then knows that its neighbours do
not follow each other.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import torch

from turia.corpus.backtranslated import (
    CORPUS_FILE,
    REPORT_FILE,
    BacktranslateReport,
    Untranslated,
    read_backtranslation,
)
from turia.corpus.monolingual import Text, read_texts
from turia.errors import FormatError, InputError
from turia.model.checkpoint import WEIGHTS
from turia.model.sentences import Draw
from turia.runtime.folder import CONFIG_FILE, load_folder
from turia.system.files import remove_leftovers, replacing, write_file
from turia.system.locks import alone_in
from turia.system.processes import in_processes
from turia.training.distributed import Ranks, ranks
from turia.training.run import RunFolder
from turia.training.text_translator import TextTranslator

_RULES_VERSION = 1
"""Part of the digest. Raise it when the same text comes out as other words."""
_WORDS_PER_PART = 20_000


@dataclass(frozen=True)
class BacktranslateJob:
    """What is translated, by which model, and how. Another job makes another corpus."""

    model: Path
    """A run folder or a model folder."""
    text: Path
    """`id<TAB>text` a line, a document each; may be packed."""
    draw: Draw
    seed: int = 1
    bfloat16: bool = False
    """Multiplies in bfloat16 where the machine can: quicker, and now and then another word."""

    def digest(self) -> str:
        """sha256 over all that decides the corpus. Where files lie does not; what they hold does."""
        try:
            with self.text.open("rb") as file:
                text = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{self.text}: cannot read the text: {error.strerror}") from error
        decisive = [_RULES_VERSION, _weights_digest(self.model), text, asdict(self.draw), self.seed]
        decisive += ["bfloat16"] if self.bfloat16 else []  # what was made before there was a choice keeps its digest
        decisive += ["float32 sums"] if self.bfloat16 and self.draw.temperature else []  # once they were bfloat16, too
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()


class BacktranslateProgress(NamedTuple):
    """How far it is, in parts. A `note` is a line worth showing by itself."""

    done: int = 0
    total: int = 1
    words_per_second: float = 0.0
    note: str = ""

    def line(self) -> str:
        return f"part {self.done} of {self.total}, {self.words_per_second:.0f} words/s"


Tell = Callable[[BacktranslateProgress], None]


def backtranslate(
    job: BacktranslateJob, folder: Path, tell: Tell | None = None, processes: int | None = None, fresh: bool = False
) -> BacktranslateReport:
    """Fills `folder`, or finds it filled; `fresh` forgets what is there.

    By default there is a process for each core, with one thread; or one, if there is a GPU. Ranks of torchrun share the
    parts out, each with its own GPU.
    """
    with ranks() as peers:
        say = tell if tell is not None and peers.leads else lambda _: None
        work = _Backtranslation(job, folder, say, peers)  # a model or a text that is not there leaves no folder behind
        alone = alone_in(folder, "turia backtranslate", "finished parts are kept")
        with alone if peers.leads else nullcontext():
            return work.run(processes, fresh)


class _Backtranslation:
    """One run of `backtranslate`."""

    def __init__(self, job: BacktranslateJob, folder: Path, tell: Tell, peers: Ranks) -> None:
        self.job, self.folder, self.tell, self.peers = job, folder, tell, peers
        self.digest = job.digest()
        self.parts = folder / f"parts-{self.digest[:16]}"

    def run(self, processes: int | None, fresh: bool) -> BacktranslateReport:
        if self.peers.leads:
            self._look_around(fresh)
        self.peers.wait()
        if (known := read_backtranslation(self.folder)) is not None:
            self.tell(BacktranslateProgress(note=f"{self.folder} is up to date: nothing to do"))
            return known
        groups = list(read_texts(self.job.text, _WORDS_PER_PART))
        if not groups:
            raise FormatError("no documents", self.job.text)
        self._translate(groups, processes or _usual_processes(self.peers))
        self.peers.wait()
        if self.peers.leads:
            self._join(len(groups))
        self.peers.wait()
        report = read_backtranslation(self.folder)
        assert report is not None
        return report

    def _look_around(self, fresh: bool) -> None:
        """Refuses what another job has left here, or forgets it where that is wanted."""
        known = read_backtranslation(self.folder)
        others = [path for path in self.folder.glob("parts-*") if path != self.parts]
        if fresh:
            for name in (REPORT_FILE, CORPUS_FILE):
                (self.folder / name).unlink(missing_ok=True)
            for path in (*others, self.parts):
                shutil.rmtree(path, ignore_errors=True)
        elif others or (known is not None and known.digest != self.digest):
            raise InputError(
                f"{self.folder} has what another model, another text or other settings gave; choose another folder, or "
                "--fresh to start over"
            )
        elif kept := self._kept():
            self.tell(BacktranslateProgress(note=f"going on with an interrupted translation: {kept} parts are there"))
        remove_leftovers(self.folder)

    def _translate(self, groups: Sequence[list[Text]], processes: int) -> None:
        """The parts of this rank that are missing."""
        self.parts.mkdir(exist_ok=True)
        tasks = [
            _BacktranslateTask(self.job, number, groups[number], self._path(number))
            for number in range(self.peers.rank, len(groups), self.peers.world)
            if not self._path(number).exists()
        ]
        begun, words = time.monotonic(), 0
        try:
            for translated in in_processes(_translate_part, tasks, processes):
                words += translated
                speed = words / (time.monotonic() - begun)
                self.tell(BacktranslateProgress(self._kept(), len(groups), speed))
        except KeyboardInterrupt:
            note = f"stopped: {self._kept()} of {len(groups)} parts are kept; the same command goes on with them"
            self.tell(BacktranslateProgress(note=note))
            raise

    def _join(self, count: int) -> None:
        """The parts as one corpus. The report comes last: it says that the corpus is complete."""
        paths = [self._path(number) for number in range(count)]
        counts: Counter[str] = Counter()
        for path in paths:
            counts.update(_read_head(path))
        dropped = Untranslated(**{item.name: counts[item.name] for item in fields(Untranslated)})
        read, written = _translator(self.job.model, self.job.bfloat16).languages
        report = BacktranslateReport(
            digest=self.digest,
            model=self.job.model.resolve().name,
            text_language=read,
            written_language=written,
            documents=counts["documents"],
            pairs=counts["pairs"],
            words=counts["words"],
            written_words=counts["written_words"],
            dropped=dropped,
        )
        if not report.pairs:
            shutil.rmtree(self.parts)  # nobody goes on with them, and another text would be refused because of them
            raise InputError(f"{self.job.text}: no sentence has a translation; {report.lines()[-1]}")
        with replacing(self.folder / CORPUS_FILE) as new:
            _write_corpus(new, paths)
        write_file(self.folder / REPORT_FILE, report.to_json())
        shutil.rmtree(self.parts)

    def _kept(self) -> int:
        return len(list(self.parts.glob("*.tsv")))

    def _path(self, number: int) -> Path:
        return self.parts / f"{number:05d}.tsv"


def _usual_processes(peers: Ranks) -> int:
    return 1 if peers.device.type == "cuda" else max(1, (os.cpu_count() or 1) // peers.world)


def _weights_digest(model: Path) -> str:
    if (model / CONFIG_FILE).exists():
        return load_folder(model).sha256()
    run = RunFolder(model)
    with ((run.best() or run.newest()) / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _BacktranslateTask(NamedTuple):
    job: BacktranslateJob
    number: int
    texts: list[Text]
    path: Path


def _translate_part(task: _BacktranslateTask) -> int:
    """Work of one process: the file of a part. Returns the words of the text that have a translation now."""
    translator = _translator(task.job.model, task.job.bfloat16)
    counts: Counter[str] = Counter()
    lines = list(translator.lines(task.texts, counts))
    translations = translator.translate(lines, task.job.draw, task.job.seed * 1_000_003 + task.number, counts)
    pairs = [(line, words) for line, words in zip(lines, translations, strict=True) if words]
    counts["documents"] = len(list(groupby(line.document for line in lines)))
    counts["pairs"] = len(pairs)
    counts["words"] = sum(len(line.text.split()) for line, _ in pairs)
    counts["written_words"] = sum(len(words) for _, words in pairs)
    rows = [f"{line.document}\t{' '.join(words)}\t{line.text}" for line, words in zip(lines, translations, strict=True)]
    content = "".join(f"{row}\n" for row in [json.dumps(counts), *rows])
    write_file(task.path, content)
    return counts["words"]


@lru_cache(maxsize=1)
def _translator(folder: Path, bfloat16: bool) -> TextTranslator:
    # There is a process for each core: several threads of each would wait for each other.
    torch.set_num_threads(1)
    return TextTranslator(folder, bfloat16)


def _read_head(path: Path) -> dict[str, int]:
    with path.open(encoding="utf-8") as file:
        head: dict[str, int] = json.loads(file.readline())
    return head


def _write_corpus(path: Path, parts: Sequence[Path]) -> None:
    with lzma.open(path, "wb") as corpus:
        for part in parts:
            with part.open("rb") as file:
                file.readline()
                shutil.copyfileobj(file, corpus)
