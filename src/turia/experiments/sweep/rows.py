"""The table of a sweep: one row for each scored configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from turia.evaluation.report import Report


@dataclass(frozen=True)
class Row:
    """One scored configuration: a row of the table and a point of a plot."""

    test: str
    system: str
    """The model, or whose outputs they are."""
    curve: str
    segments: str
    k: int | None
    """Of wait-k; other policies have none."""
    report: Report
    words: int
    """Target words written."""
    reference_words: int
    ours: bool = True
    offline: bool = False
    point: str = ""
    """The parameters of another policy than wait-k, as people type them."""
    details: dict[str, Any] = field(default_factory=dict)
    """What else is known of the run, for results.json."""
    p_value: float | None = None
    """How likely its difference in BLEU from the baseline would be by chance; None where that was not tested."""
    difference: float | None = None
    """In BLEU from the baseline at the same AL, where that was tested."""

    def as_json(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "system": self.system,
            "curve": self.curve,
            "segments": self.segments,
            "k": self.k,
            "offline": self.offline,
            **self.report.as_json(),
            "words": self.words,
            "reference_words": self.reference_words,
            **({} if self.p_value is None else {"BLEU_p": self.p_value}),
            **({} if self.difference is None else {"BLEU_difference": self.difference}),
            **self.details,
        }

    def cells(self) -> list[str]:
        """For the table; see COLUMNS."""
        report = self.report
        return [
            self.curve,
            "all" if self.offline else self.point if self.k is None else str(self.k),
            report.figure("BLEU").shown(decimals=1) + _chance(self.p_value, self.difference),
            report.figure("chrF").shown(decimals=1),
            report.figure("AP").shown(decimals=2),
            report.figure("AL").shown(decimals=1),
            report.figure("DAL").shown(decimals=1),
            _shown(report.group("longyaal").get("LongYAAL")),
            f"{self.words / self.reference_words:.2f}",
            str(report.empty),
            _shown(self.details.get("calls_per_word")),
            _shown(self.details.get("words_per_second"), decimals=0),
        ]


COLUMNS = (
    "curve", "k", "BLEU", "chrF", "AP", "AL", "DAL", "LongYAAL", "length", "empty", "calls/word", "words/s",
)  # fmt: skip


def _shown(value: float | None, decimals: int = 1) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _chance(p_value: float | None, difference: float | None) -> str:
    if p_value is None:
        return ""
    return f" (p = {p_value:.3f})" if difference is None else f" ({difference:+.1f}, p = {p_value:.3f})"


def columns(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, and its cells. What was not measured has no column; calls are for who compares policies."""
    timed = any("words_per_second" in row.details for row in rows)
    shown = {
        "LongYAAL": any(row.report.group("longyaal") for row in rows),
        "calls/word": timed or any(row.k is None and row.ours and not row.offline for row in rows),
        "words/s": timed,
    }
    places = [place for place, name in enumerate(COLUMNS) if shown.get(name, True)]
    return [COLUMNS[place] for place in places], [[row.cells()[place] for place in places] for row in rows]


class Setting(NamedTuple):
    """A point of a curve, as a table of regimes has it."""

    curve: str
    name: str
    al: float
    bleu: float


def settings_of(rows: Sequence[Row]) -> list[Setting]:
    """The points of rows, without those of whole sentences."""
    return [
        Setting(
            row.curve, row.point if row.k is None else f"k = {row.k}", row.report.value("AL"), row.report.value("BLEU")
        )
        for row in rows
        if not row.offline
    ]


def regime_columns(points: Sequence[Setting], regimes: Sequence[float]) -> tuple[list[str], list[list[str]]]:
    """The best point of each curve in each regime of AL, these ending at `regimes`: heads of a table, and its cells."""
    bounds = list(pairwise((-inf, *regimes)))
    heads = [f"AL ≤ {high:g}" if low == -inf else f"{low:g} < AL ≤ {high:g}" for low, high in bounds]
    cells = []
    for curve in dict.fromkeys(point.curve for point in points):
        own = [point for point in points if point.curve == curve]
        cells.append([curve, *(_best([one for one in own if low < one.al <= high]) for low, high in bounds)])
    return ["curve", *heads], cells


def _best(points: Sequence[Setting]) -> str:
    """BLEU, AL and parameters of the best of them."""
    if not points:
        return ""
    best = max(points, key=lambda one: one.bleu)
    return f"{best.bleu:.1f} (AL {best.al:.1f}, {best.name})"


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """The same tables for a terminal."""
    for test in dict.fromkeys(row.test for row in rows):
        drawn = Table(title=test, box=box.SIMPLE_HEAD)
        heads, cells = columns([row for row in rows if row.test == test])
        for name in heads:
            drawn.add_column(name, justify="left" if name == "curve" else "right", no_wrap=name == "curve")
        for row in cells:
            drawn.add_row(*row)
        yield drawn
