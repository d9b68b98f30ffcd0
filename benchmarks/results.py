"""Makes the tables and pictures of docs/results.md, each by the sweep whose recipe bears its name.

    python -m benchmarks.results [RECIPE ...] [--page docs/results.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/sweep-*.toml for which the page has a place. Each is swept first: an interrupted sweep
goes on where it stopped, and a finished one is only scored again. The table with all figures, and the pictures that
the page shows, go into figures/ beside it. `--written-only` sweeps nothing, and takes the results that are there.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from benchmarks.page import Row, curve_name, fill_all, sections, table_lines

HEADS = ("", "k, or policy", "BLEU", "chrF", "AP", "AL", "DAL", "length")


def section(results: dict[str, Any], name: str, day: datetime.date) -> str:
    """What the page says about a sweep."""
    return sections(results, name, day, table)


def table(rows: Sequence[Row]) -> list[str]:
    """Curves against k where there are several k, else a line for each configuration."""
    waiting = [row for row in rows if not row["offline"]]
    steps = sorted({row["k"] for row in waiting if row["k"] is not None})
    if len(steps) < 2:
        return table_lines(HEADS, [[curve_name(row["curve"]), *_figures(row)] for row in rows])
    # p says more than a delay that hardly differs; where nothing was tested, the delay does.
    tested = any(row.get("BLEU_p") is not None for row in rows)
    lines = []
    for curve in dict.fromkeys(row["curve"] for row in waiting):
        found = {row["k"]: row for row in waiting if row["curve"] == curve}
        cells = [_cell(found[k], tested) if k in found else "" for k in steps]
        lines.append([curve_name(curve), *cells])
    whole = [f"{curve_name(row['curve'])}: {_cell(row, tested)}" for row in rows if row["offline"]]
    found_table = table_lines(["", *(f"k = {k}" for k in steps)], lines)
    return found_table + (["", f"{'; '.join(whole)}."] if whole else [])


def _cell(row: Row, tested: bool) -> str:
    chance = row.get("BLEU_p")
    if tested:
        return f"{row['BLEU']:.1f}" + (f" ({chance:.3f})" if chance is not None else "")
    return f"{row['BLEU']:.1f} ({row['AL']:.1f} / {row['DAL']:.1f})"


def _figures(row: Row) -> list[str]:
    chance = row.get("BLEU_p")
    bleu = f"{row['BLEU']:.1f}" + (f" (p = {chance:.3f})" if chance is not None else "")
    length = row["words"] / row["reference_words"]
    waits = "all" if row["offline"] else f"`{row['policy']}`" if row["k"] is None else str(row["k"])
    latency = [f"{row['AP']:.2f}", f"{row['AL']:.1f}", f"{row['DAL']:.1f}"]
    return [waits, bleu, f"{row['chrF']:.1f}", *latency, f"{length:.2f}"]


def main() -> None:
    fill_all("docs/results.md", "sweep-*.toml", section, __doc__)


if __name__ == "__main__":
    main()
