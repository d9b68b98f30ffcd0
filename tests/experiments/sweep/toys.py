"""A sweep that a test can reason about."""

from __future__ import annotations

from pathlib import Path

from turia.config import Corpus, SweepRecipe, SweepTest
from turia.experiments.sweep.plan import SweptModel
from turia.experiments.sweep.run import Results, sweep


def recipe(folder: Path, **keys: object) -> SweepRecipe:
    return SweepRecipe(folder, (SweepTest("toy set", Corpus()),), **keys)  # type: ignore[arg-type]


def model() -> SweptModel:
    return SweptModel("toy", Path("toy"), 40, 3, "", "xx", "yy", windows=(0, 1, 2, 3, 4))


TSV = "one\tEin Satz.\tA sentence.\none\tNoch – einer.\tOne more.\ntwo\tDer letzte.\tThe last.\n"


def corpus(folder: Path, text: str = TSV) -> SweepTest:
    path = folder / "set.tsv"
    path.write_text(text, encoding="utf-8")
    return SweepTest("toy set", Corpus(path=path))


def run(path: Path, processes: int = 1, fresh: bool = False) -> Results:
    return sweep(path, lambda share, detail: None, processes, fresh)


def traces(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))}


def moments(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.jsonl"))}
