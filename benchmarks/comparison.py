"""Makes the tables and pictures of docs/comparison.md, each by the sweep whose recipe bears its name.

    python -m benchmarks.comparison [RECIPE ...] [--page docs/comparison.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/compare-*.toml for which the page has a place. The options are those of
`python -m benchmarks.results`, which does the same for docs/results.md. Where there are other policies than wait-k, a
table has a line for each point, with its policy and what it costs.
"""

from __future__ import annotations

import argparse
import datetime
import re
from collections.abc import Sequence
from typing import Any

from benchmarks import results as result_tables
from benchmarks.page import fill, keep_figures, recipes_of, sweep_options
from turia.experiments.sweep.rows import Setting, regime_columns
from turia.runtime.folder import SHORT_SUM

Row = dict[str, Any]
HEADS = ("system", "k, or policy", "BLEU", "to wait-k (p)", "AP", "AL", "DAL", "length", "calls/word", "words/s")


def section(results: dict[str, Any], name: str, day: datetime.date) -> str:
    """What the page says about a sweep."""
    models = ", ".join(f"{model['name']} (`{model['sha256'][:SHORT_SUM]}`)" for model in results["models"])
    made = f"`turia sweep recipes/{name}.toml`, {day:%-d %B %Y}; {models}; [all figures](figures/{name}.md)"
    lines: list[str] = []
    for test in results["tests"]:
        own = [row for row in results["results"] if row["test"] == test["name"]]
        streams = own[0]["streams"]
        size = f"{test['sentences']:,} sentences, {test['source_words']:,} source words"
        lines += [f"{test['name']}: {size}, {'one stream' if streams == 1 else f'{streams} streams'}.", ""]
        regimes = results["recipe"].get("regimes")
        if regimes:
            lines += [*_table(*regime_columns([_setting(row) for row in own if not row["offline"]], regimes)), ""]
        lines += [*table(own), ""]
    return "\n".join([*lines, f"{made}."])


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each point, without the columns in which there is nothing; of wait-k alone, curves against k."""
    if all(row["k"] is not None or row["offline"] for row in rows):
        return result_tables.table(rows)
    cells = [_cells(row) for row in rows]
    used = [at for at in range(len(HEADS)) if any(line[at] for line in cells)]
    return _table([HEADS[at] for at in used], [[line[at] for at in used] for line in cells])


def _cells(row: Row) -> list[str]:
    chance = row.get("BLEU_p")
    return [
        row["curve"].replace("oracle segments", "the reference's sentences"),
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


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    rule = "|---" + "|---:" * (len(heads) - 1) + "|"
    return [_line(heads), rule, *(_line(line) for line in cells)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sweep_options(parser, "docs/comparison.md")
    options = parser.parse_args()
    for recipe in recipes_of(options, "compare-*.toml"):
        found = fill(options, recipe, section)
        keep_figures(found.parent, recipe.stem, options.page)


if __name__ == "__main__":
    main()
