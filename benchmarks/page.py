"""Places of a page in docs/ that a command fills with what it measured.

A place is what lies between two lines:

    <!-- begin NAME -->
    <!-- end NAME -->
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from turia.config import SweepRecipe, load_recipe
from turia.experiments.sweep.run import sweep
from turia.runtime.folder import SHORT_SUM

Row = dict[str, Any]
"""A point of results.json."""
Section = Callable[[dict[str, Any], str, datetime.date], str]
"""The results of a sweep, the name of its recipe and the day → what the page says about them."""


def put(page: str, name: str, content: str) -> str:
    """The page with `content` in the place called `name`."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, first, rest = page.partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise SystemExit(f"the page has no place for {name}: write the lines {begin.strip()} and {end} where it goes")
    return f"{before}{begin}\n{content.strip()}\n\n{end}{after}"


def sweep_options(parser: argparse.ArgumentParser, page: str) -> None:
    """What every command has that fills a page from sweeps."""
    parser.add_argument("recipes", type=Path, nargs="*")
    parser.add_argument("--page", type=Path, default=Path(page))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--written-only", action="store_true", help="take the results that are there")


def recipes_of(options: argparse.Namespace, pattern: str) -> Sequence[Path]:
    """The recipes that were named, or else those for which the page has a place."""
    text = options.page.read_text(encoding="utf-8")
    found = [path for path in sorted(Path("recipes").glob(pattern)) if f"<!-- begin {path.stem} -->" in text]
    return options.recipes or found


def fill(options: argparse.Namespace, recipe: Path, section: Section) -> Path:
    """Sweeps a recipe, writes what was found into the page, and returns the results' path."""
    if not options.written_only:
        sweep(recipe, lambda share, detail: print(f"{share:4.0%} {detail}", flush=True), options.processes)
    found = load_recipe(SweepRecipe, recipe).folder / "results.json"
    results = json.loads(found.read_text(encoding="utf-8"))
    day = datetime.datetime.fromtimestamp(found.stat().st_mtime, datetime.UTC).date()
    # The page is read after the sweep, which may have taken hours.
    page = options.page.read_text(encoding="utf-8")
    options.page.write_text(put(page, recipe.stem, section(results, recipe.stem, day)), encoding="utf-8")
    print(f"{recipe.stem}: written to {options.page}")
    return found


def sections(
    results: dict[str, Any], name: str, day: datetime.date, tables: Callable[[Sequence[Row]], Sequence[str]]
) -> str:
    """What a page says about a sweep: for each test set its size and `tables`, and at the end what made them."""
    models = ", ".join(f"{model['name']} (`{model['sha256'][:SHORT_SUM]}`)" for model in results["models"])
    made = f"`turia sweep recipes/{name}.toml`, {day:%-d %B %Y}; model {models}; [all figures](figures/{name}.md)"
    lines: list[str] = []
    for test in results["tests"]:
        own = [row for row in results["results"] if row["test"] == test["name"]]
        streams = test["streams"]
        size = f"{test['sentences']:,} sentences, {test['source_words']:,} source words"
        lines += [f"{test['name']}: {size}, {'one stream' if streams == 1 else f'{streams} streams'}.", ""]
        lines += [*tables(own), ""]
    return "\n".join([*lines, f"{made}."])


def table_lines(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first column is text."""
    rule = "|---" + "|---:" * (len(heads) - 1) + "|"
    return [_line(heads), rule, *map(_line, cells)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def curve_name(curve: str) -> str:
    """A curve as people call it."""
    return curve.replace("oracle segments", "the reference's sentences")


def fill_all(page: str, pattern: str, section: Section, about: str | None) -> None:
    """The command of a page: fills its places from the recipes that were named, or from those of the pattern."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    sweep_options(parser, page)
    options = parser.parse_args()
    for recipe in recipes_of(options, pattern):
        found = fill(options, recipe, section)
        keep_figures(found.parent, recipe.stem, options.page)


def keep_figures(folder: Path, name: str, page: Path) -> None:
    """Copies the table with all figures of a sweep beside the page, and the pictures that the page shows."""
    text, figures = page.read_text(encoding="utf-8"), page.parent / "figures"
    figures.mkdir(exist_ok=True)
    shutil.copyfile(folder / "results.md", figures / f"{name}.md")
    for picture in folder.glob("*.svg"):
        # The kind alone where there is one test set, as the recipe's name says which.
        for new in (f"{name}-{picture.stem.rpartition('-')[2]}.svg", f"{name}-{picture.name}"):
            if f"figures/{new}" in text:
                shutil.copyfile(picture, figures / new)
