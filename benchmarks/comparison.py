"""Makes the tables and pictures of docs/comparison.md, each by the sweep whose recipe bears its name.

    python -m benchmarks.comparison [RECIPE ...] [--page docs/comparison.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/compare-*.toml for which the page has a place. The options are those of
`python -m benchmarks.results`, which does the same for docs/results.md. Where there are other policies than wait-k, a
table has a line for each point, with its policy and what it costs.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

from benchmarks import results as result_tables
from benchmarks.page import Row, curve_name, fill_all, sections, table_lines
from turia.experiments.sweep.rows import Setting, regime_columns

HEADS = ("system", "k, or policy", "BLEU", "to wait-k (p)", "AP", "AL", "DAL", "length", "calls/word", "words/s")


def section(results: dict[str, Any], name: str, day: datetime.date) -> str:
    """What the page says about a sweep."""
    regimes = results["recipe"].get("regimes", ())
    return sections(results, name, day, lambda rows: [*_best(rows, regimes), *table(rows)])


def _best(rows: Sequence[Row], regimes: Sequence[float]) -> list[str]:
    """The best point of each curve in each regime, where there are any."""
    points = [_setting(row) for row in rows if not row["offline"]]
    return [*table_lines(*regime_columns(points, regimes)), ""] if regimes else []


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each point, without the columns in which there is nothing; of wait-k alone, curves against k."""
    if all(row["k"] is not None or row["offline"] for row in rows):
        return result_tables.table(rows)
    cells = [_cells(row) for row in rows]
    used = [at for at in range(len(HEADS)) if any(line[at] for line in cells)]
    return table_lines([HEADS[at] for at in used], [[line[at] for at in used] for line in cells])


def _cells(row: Row) -> list[str]:
    chance = row.get("BLEU_p")
    return [
        curve_name(row["curve"]),
        _waits(row),
        f"{row['BLEU']:.1f}",
        f"{row['BLEU_difference']:+.1f} ({chance:.3f})" if chance is not None else "",
        f"{row['AP']:.2f}",
        f"{row['AL']:.1f}",
        f"{row['DAL']:.1f}",
        f"{row['words'] / row['reference_words']:.2f}" if "words" in row else "",
        f"{row['calls_per_word']:.1f}" if row.get("calls_per_word") else "",
        f"{row['words_per_second']:.0f}" if row.get("words_per_second") else "",
    ]


def _setting(row: Row) -> Setting:
    name = row["policy"].partition(":")[2] if row["k"] is None else f"k = {row['k']}"
    return Setting(row["curve"], name, row["AL"], row["BLEU"])


def _waits(row: Row) -> str:
    if row["offline"]:
        return "all"
    # Rounding is the same everywhere, and nobody types it.
    return str(row["k"]) if row["k"] is not None else f"`{re.sub(r',rounding=.*', '', row['policy'])}`"


def main() -> None:
    fill_all("docs/comparison.md", "compare-*.toml", section, __doc__)


if __name__ == "__main__":
    main()
