"""`turia prepare`: time and memory, stage by stage.

    python -m benchmarks.prepare CORPUS.tsv.xz ... [--pairs N] [--processes P]

Prepares the corpora (document, German, English) into a temporary folder, with the filters and the 8000 joint pieces of
the recipes, and throws it away. Wall-clock time depends on what else the machine does, so processor time of all
processes is printed beside it: divided by the cores it is what an idle machine takes at best. Memory is the largest
process's peak; the sum over processes is at most that times their number plus one.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import resource
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks.commit import commit
from turia.config import Corpus, Data, Recipe
from turia.corpus.prepare import prepare
from turia.corpus.report import PrepareProgress
from turia.formats.documents import read

LANGUAGES = ("de", "en")


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of `turia prepare`.")
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, help="only the first so many pairs of each corpus")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    print(f"{platform.node()}, {date.today()}, commit {commit()}, {given.processes} processes")
    with tempfile.TemporaryDirectory() as folder:
        corpora = [path if given.pairs is None else cut(path, given.pairs, Path(folder)) for path in given.corpora]
        run(corpora, Path(folder) / "data", given.processes)


def cut(path: Path, pairs: int, folder: Path) -> Path:
    """The first pairs of a corpus as a file of their own; its last document may be cut short."""
    new = folder / f"{path.parent.name}-{path.name.removesuffix('.xz')}"
    rows = (
        f"{document.id}\t{source}\t{target}\n"
        for document in read(Corpus(path), *LANGUAGES)
        for source, target in zip(document.source, document.target, strict=True)
    )
    new.write_text("".join(itertools.islice(rows, pairs)), encoding="utf-8")
    return new


def run(corpora: list[Path], folder: Path, processes: int) -> None:
    """Prepares, and prints when each stage ended."""
    begin = time.perf_counter()
    ends: dict[str, float] = {}

    def note_end(progress: PrepareProgress) -> None:
        ends[progress.stage] = time.perf_counter() - begin

    data = Data(folder, tuple(Corpus(path) for path in corpora))
    report = prepare(Recipe(*LANGUAGES, data=data), note_end, processes)
    seconds = time.perf_counter() - begin
    pairs = sum(corpus.read for corpus in report.corpora)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(used.ru_utime + used.ru_stime for used in usage)
    for stage, end in ends.items():
        print(f"{stage:7} last told at {end:7.1f} s")
    print(f"{pairs} pairs in {seconds:.0f} s ({pairs / seconds:.0f} pairs/s); {processor:.0f} s of processor time")
    print(f"peak memory of the largest process: {max(used.ru_maxrss for used in usage) / 1024:.0f} MB")
    for line in report.lines():
        print(line)


if __name__ == "__main__":
    main()
