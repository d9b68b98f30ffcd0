"""Makes the tables and pictures of docs/results.md, each by the sweep whose recipe bears its name.

    python -m benchmarks.results [RECIPE ...] [--page docs/results.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/sweep-*.toml for which the page has a place. Each is swept first: an interrupted sweep
goes on where it stopped, and a finished one is only scored again. The pictures and the table with all figures go into
figures/ beside the page. `--written-only` sweeps nothing, and takes the results that are there.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.page import fill, recipes_of, sweep_options
from turia.runtime.folder import SHORT_SUM

Row = dict[str, Any]
HEADS = ("", "k", "BLEU", "chrF", "AP", "AL", "DAL", "length")


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
    steps = sorted({row["k"] for row in waiting})
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
    k = "all" if row["offline"] else str(row["k"])
    return [k, bleu, f"{row['chrF']:.1f}", f"{row['AP']:.2f}", f"{row['AL']:.1f}", f"{row['DAL']:.1f}", f"{length:.2f}"]


def _name(curve: str) -> str:
    """A curve as people call it."""
    return curve.replace("oracle segments", "the reference's sentences")


def _ruled(heads: Sequence[str]) -> list[str]:
    return [_line(heads), "|---" + "|---:" * (len(heads) - 1) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def keep_figures(folder: Path, name: str, figures: Path) -> None:
    """Copies the table with all figures and the pictures of a sweep beside the page."""
    figures.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "results.md", figures / f"{name}.md")
    pictures = sorted(folder.glob("*.svg"))
    for picture in pictures:
        # One test set: the recipe's name says which. Several: each picture says its own.
        kind = picture.stem.rpartition("-")[2]
        several = len(pictures) > len({path.stem.rpartition("-")[2] for path in pictures})
        new = f"{name}-{picture.stem}.svg" if several else f"{name}-{kind}.svg"
        shutil.copyfile(picture, figures / new)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sweep_options(parser, "docs/results.md")
    options = parser.parse_args()
    for recipe in recipes_of(options, "sweep-*.toml"):
        found = fill(options, recipe, section)
        keep_figures(found.parent, recipe.stem, options.page.parent / "figures")


if __name__ == "__main__":
    main()
