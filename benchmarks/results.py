"""Makes the tables and pictures of docs/results.md, each by the sweep whose recipe bears its name.

    python -m benchmarks.results [RECIPE ...] [--page docs/results.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/sweep-*.toml for which the page has a place. Each is swept first: an interrupted sweep
goes on where it stopped, and a finished one is only scored again. The table with all figures, and the pictures that
the page shows, go into figures/ beside it. `--written-only` sweeps nothing, and takes the results that are there.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from typing import Any

from benchmarks.page import fill, keep_figures, recipes_of, sweep_options
from turia.runtime.folder import SHORT_SUM

Row = dict[str, Any]
HEADS = ("", "k, or policy", "BLEU", "chrF", "AP", "AL", "DAL", "length")


def section(results: dict[str, Any], name: str, day: datetime.date) -> str:
    """What the page says about a sweep."""
    models = ", ".join(f"{model['name']} (`{model['sha256'][:SHORT_SUM]}`)" for model in results["models"])
    made = f"`turia sweep recipes/{name}.toml`, {day:%-d %B %Y}; model {models}; [all figures](figures/{name}.md)"
    lines: list[str] = []
    for test in results["tests"]:
        own = [row for row in results["results"] if row["test"] == test["name"]]
        streams = own[0]["streams"]
        size = f"{test['sentences']:,} sentences, {test['source_words']:,} source words"
        lines += [f"{test['name']}: {size}, {'one stream' if streams == 1 else f'{streams} streams'}.", ""]
        lines += [*table(own), ""]
    return "\n".join([*lines, f"{made}."])


def table(rows: Sequence[Row]) -> list[str]:
    """Curves against k where there are several k, else a line for each configuration."""
    waiting = [row for row in rows if not row["offline"]]
    steps = sorted({row["k"] for row in waiting if row["k"] is not None})
    if len(steps) < 2:
        return [*_ruled(HEADS), *(_line([_name(row["curve"]), *_figures(row)]) for row in rows)]
    # p says more than a delay that hardly differs; where nothing was tested, the delay does.
    tested = any(row.get("BLEU_p") is not None for row in rows)
    lines = _ruled(["", *(f"k = {k}" for k in steps)])
    for curve in dict.fromkeys(row["curve"] for row in waiting):
        found = {row["k"]: row for row in waiting if row["curve"] == curve}
        cells = [_cell(found[k], tested) if k in found else "" for k in steps]
        lines.append(_line([_name(curve), *cells]))
    whole = [f"{_name(row['curve'])}: {_cell(row, tested)}" for row in rows if row["offline"]]
    return lines + (["", f"{'; '.join(whole)}."] if whole else [])


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


def _name(curve: str) -> str:
    """A curve as people call it."""
    return curve.replace("oracle segments", "the reference's sentences")


def _ruled(heads: Sequence[str]) -> list[str]:
    return [_line(heads), "|---" + "|---:" * (len(heads) - 1) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sweep_options(parser, "docs/results.md")
    options = parser.parse_args()
    for recipe in recipes_of(options, "sweep-*.toml"):
        found = fill(options, recipe, section)
        keep_figures(found.parent, recipe.stem, options.page)


if __name__ == "__main__":
    main()
