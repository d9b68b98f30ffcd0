"""What a preparation says while it runs, and what it leaves behind for people to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from turia.config import Corpus
from turia.corpus.filters import Dropped
from turia.corpus.shards import Sizes, has_subwords
from turia.schema import from_dict


class PrepareProgress(NamedTuple):
    """How far a stage is, in chunks; `total` is None while unknown. A `note` is a line worth showing by itself."""

    stage: str
    done: int = 0
    total: int | None = None
    detail: str = ""
    note: str = ""

    def share(self) -> float:
        """Of the whole preparation, roughly: cleaning takes three quarters of the time, and its total is unknown."""
        begin, end = _SHARES[self.stage]
        return begin + (end - begin) * (self.done / self.total if self.total else 0.0)


_SHARES = {"clean": (0.0, 0.75), "learn": (0.75, 0.8), "encode": (0.8, 0.98), "join": (0.98, 1.0), "done": (1.0, 1.0)}


@dataclass(frozen=True)
class CorpusReport:
    """What became of one corpus."""

    name: str
    split: str
    read: int
    dropped: Dropped
    sizes: Sizes
    repeats: int = 0
    """Pairs that are drawn no more as single sentences but stay in windows, where they are true history."""

    def line(self) -> str:
        reasons = [f"{reason} {count}" for reason, count in vars(self.dropped).items() if count]
        dropped = f"; dropped: {', '.join(reasons)}" if reasons else ""
        repeats = f"; {self.repeats} repeats kept for windows alone" if self.repeats else ""
        return f"{self.split} {self.name}: {self.read} pairs read, {self.sizes.sentences} kept{dropped}{repeats}"


@dataclass(frozen=True)
class PrepareReport:
    """What a data folder holds; kept in its `report.json`, which says that the folder is complete."""

    digest: str
    corpora: tuple[CorpusReport, ...]
    train: Sizes
    dev: Sizes
    gamma: float
    source_vocabulary: int
    target_vocabulary: int

    def lines(self) -> list[str]:
        """For people, one fact a line."""
        return [
            *(corpus.line() for corpus in self.corpora),
            *(
                _sizes_line(name, sizes)
                for name, sizes in (("train", self.train), ("dev", self.dev))
                if sizes.sentences
            ),
            f"gamma {self.gamma}; {self.source_vocabulary} source and {self.target_vocabulary} target pieces",
        ]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


def corpus_names(corpora: Sequence[Corpus]) -> list[str]:
    """The last two parts of each corpus's path: its name, not where it lies on somebody's disk.

    More parts, where another file's path ends in the same ones.
    """
    paths = [corpus.path or corpus.source for corpus in corpora]
    names = []
    for path in paths:
        assert path is not None
        others = [other.parts for other in paths if other is not None and other != path]
        parts = 2
        while any(other[-parts:] == path.parts[-parts:] for other in others):
            parts += 1
        names.append(Path(*path.parts[-parts:]).as_posix())
    return names


def read_report(folder: Path) -> PrepareReport | None:
    """The report of a complete data folder. One that cannot be read counts as absent: it is made anew."""
    try:
        report = from_dict(PrepareReport, json.loads((folder / "report.json").read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    splits = [name for name, sizes in (("train", report.train), ("dev", report.dev)) if sizes.sentences]
    whole = has_subwords(folder) and all((folder / name / "meta.json").exists() for name in splits)
    return report if whole else None


def _sizes_line(name: str, sizes: Sizes) -> str:
    source = f"{sizes.source_words} source words of {sizes.source_pieces / sizes.source_words:.2f} pieces"
    target = f"{sizes.target_words} target words of {sizes.target_pieces / sizes.target_words:.2f}"
    return f"{name}: {sizes.sentences} pairs, {sizes.windows} window samples, {source}, {target}"
