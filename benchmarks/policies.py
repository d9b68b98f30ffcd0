"""Makes the tables and pictures of docs/policies.md: every policy, on dev and on test, in both directions.

    python -m benchmarks.policies [RECIPE ...] [--page docs/policies.md] [--processes 1] [--written-only]

Without a recipe it takes recipes/policies-*.toml for which the page has a place. Each is swept first: an interrupted
sweep goes on where it stopped, and a finished one is only scored again. Then what was found is written into the page,
between the lines

    <!-- begin policies-dev-de-en -->
    <!-- end policies-dev-de-en -->

and a picture into figures/ beside it. `--written-only` sweeps nothing, and takes the results that are there.

    python -m benchmarks.policies recipes/policies-dev-de-en.toml --store src/turia/models/de-en

also stores the points of the best policy as the model's dial, and that policy as its default, in config.json. Only
results of a dev set are stored. The weights stay as they are.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page import fill, recipes_of, sweep_options
from turia.experiments.dial import dial_of
from turia.policy.waitk import WaitK
from turia.runtime.folder import SHORT_SUM, load_folder, write_config, write_sums

BASE = "wait-k"
LAGS = (3.0, 4.0, 5.0)
"""AL at which policies are compared in one sentence."""
MODEL_LAGS = (3.0, 4.0, 5.0, 6.0, 8.0)
"""AL at which models are compared, each with its best policy there."""
HEADS = ("policy", "BLEU", "to wait-k (p)", "AL", "LongYAAL", "calls/word", "words/s")


@dataclass(frozen=True)
class Point:
    """A policy with its parameters, measured."""

    system: str
    segments: str
    """`oracle`, or `w2` for the segmenter with two future words."""
    beam: int
    recompute: bool
    policy: str
    """As people type it."""
    whole: bool
    """Whole sentences: the bound."""
    bleu: float
    confidence: float | None
    al: float
    longyaal: float | None
    calls: float | None
    speed: float | None
    difference: float | None
    """From wait-k at the same AL."""
    p_value: float | None

    @property
    def name(self) -> str:
        return self.policy.partition(":")[0]

    def cells(self) -> list[str]:
        chance = f"{_number(self.difference, sign=True)} ({self.p_value:.3f})" if self.p_value is not None else ""
        interval = "" if self.confidence is None else f" ± {self.confidence:.1f}"
        figures = (_number(self.al), _number(self.longyaal), _number(self.calls), _number(self.speed, decimals=0))
        return [f"`{self.policy}`", f"{self.bleu:.1f}{interval}", chance, *figures]


def _number(value: float | None, decimals: int = 1, sign: bool = False) -> str:
    return "" if value is None else f"{value:{'+' if sign else ''}.{decimals}f}"


def points(results: dict[str, Any]) -> list[Point]:
    """Our points in the results.json of a sweep."""
    return [_point(row) for row in results["results"] if "policy" in row and "target_lag" not in row]


def _point(row: dict[str, Any]) -> Point:
    # Rounding is the same everywhere, and nobody types it.
    policy = re.sub(r",rounding=\w+$", "", row["policy"])
    return Point(
        row["system"],
        row["segments"],
        row["beam"],
        row["recompute"],
        policy,
        row["offline"],
        row["BLEU"],
        row.get("BLEU_confidence"),
        row["AL"],
        row.get("longyaal", {}).get("LongYAAL"),
        row.get("calls_per_word"),
        row.get("words_per_second"),
        row.get("BLEU_difference"),
        row.get("BLEU_p"),
    )


# --- what is said -----------------------------------------------------------------------------------------------------


def at(curve: Sequence[Point], al: float) -> float | None:
    """BLEU of a policy at some AL, on the line between its points; None where it has none so soon or so late."""
    own = sorted((point.al, point.bleu) for point in curve)
    if len(own) < 2 or not own[0][0] <= al <= own[-1][0]:
        return None
    return float(np.interp(al, [one[0] for one in own], [one[1] for one in own]))


def goals(own: Sequence[Point], bound: float | None) -> list[str]:
    """How much of the distance from wait-k to whole sentences each policy closes, in lines."""
    curves: dict[str, list[Point]] = {}
    for point in own:
        curves.setdefault(point.name, []).append(point)
    base = curves.pop(BASE, [])
    lines = []
    for name, curve in curves.items():
        parts = []
        for al in LAGS:
            found, reference = at(curve, al), at(base, al)
            if found is None or reference is None:
                continue
            share = f", {(found - reference) / (bound - reference):.0%}" if bound and bound > reference else ""
            parts.append(f"{found - reference:+.1f}{share} at AL {al:g}")
        if parts:
            lines.append(f"`{name}`: {'; '.join(parts)}.")
    return lines


def compared(found: Sequence[Point]) -> list[str]:
    """A table of several models, in lines: BLEU of each one's best policy at some AL, and of whole sentences. A model
    that was run in several ways has a row for each."""
    lines = [f"| model | {' | '.join(f'AL {al:g}' for al in MODEL_LAGS)} | whole sentences |"]
    lines.append("|---" + "|---:" * (len(MODEL_LAGS) + 1) + "|")
    groups = _groups(one for one in found if not one.whole)
    ways = {(one.segments, one.beam, one.recompute) for group in groups for one in group}
    for group in groups:
        first, curves = group[0], dict[str, list[Point]]()
        for point in group:
            curves.setdefault(point.name, []).append(point)
        cells = []
        for al in MODEL_LAGS:
            there = [(bleu, name) for name, curve in curves.items() if (bleu := at(curve, al)) is not None]
            cells.append(f"{max(there)[0]:.1f} ({max(there)[1]})" if there else "")
        bound = [one for one in found if one.whole and (one.system, one.beam) == (first.system, first.beam)]
        cells.append(f"{bound[0].bleu:.1f}" if bound else "")
        name = first.system if len(ways) == 1 else _title(first, several=True)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def section(results: dict[str, Any], name: str, day: datetime.date) -> str:
    """What the page says about a sweep."""
    found = points(results)
    models = ", ".join(f"{model['name']} (`{model['sha256'][:SHORT_SUM]}`)" for model in results["models"])
    (test,) = results["tests"]
    what = f"{test['name']}: {test['sentences']:,} sentences, {test['source_words']:,} source words. Model: {models}."
    lines = [f"{what} {day:%-d %B %Y}, `python -m benchmarks.policies recipes/{name}.toml`.", ""]
    lines += [f"![BLEU against AL of every policy, {test['name']}](figures/{name}.svg)", ""]
    bounds = {(one.system, one.beam, one.recompute): one for one in found if one.whole}
    if len(results["models"]) > 1:
        lines += ["BLEU of each model's best policy at equal latency, on the lines between the points below:", ""]
        lines += [*compared(found), ""]
    for group in _groups(one for one in found if not one.whole):
        first = group[0]
        bound = bounds.get((first.system, first.beam, first.recompute))
        lines += [f"**{_title(first, len(results['models']) > 1)}**", ""]
        lines += [f"| {' | '.join(HEADS)} |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
        # Where the reference's sentences are given the bound has its row; it is the same with a segmenter.
        rows = [*group, *([bound] if bound and first.segments == "oracle" else [])]
        lines += [f"| {' | '.join(point.cells())} |" for point in rows]
        closed = goals(group, bound.bleu if bound else None)
        if closed:
            lines += ["", "BLEU to wait-k, and the share of the distance from wait-k to whole sentences:", ""]
            lines += [f"- {line}" for line in closed]
        lines.append("")
    return "\n".join(lines)


def _groups(found: Iterable[Point]) -> list[list[Point]]:
    groups: dict[tuple[str, str, int, bool], list[Point]] = {}
    for point in found:
        groups.setdefault((point.system, point.segments, point.beam, point.recompute), []).append(point)
    return list(groups.values())


def _title(point: Point, several: bool) -> str:
    window = point.segments.removeprefix("w")
    sentences = (
        "the reference's sentences" if point.segments == "oracle" else f"the segmenter's sentences, w = {window}"
    )
    search = "greedy" if point.beam == 1 else f"beam {point.beam}"
    parts = [point.system] if several else []
    parts += [sentences, search, *(["decoder states computed again"] if point.recompute else [])]
    title = ", ".join(parts)
    return title if several else title[0].upper() + title[1:]


def draw(results: dict[str, Any], path: Path) -> None:
    """BLEU against AL: a panel for each segmentation, of the widest beam."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    found = points(results)
    beam, system = max(point.beam for point in found), found[0].system
    shown = [one for one in found if (one.beam, one.system, one.recompute) == (beam, system, found[0].recompute)]
    panels = list(dict.fromkeys(point.segments for point in shown if not point.whole))
    names = list(dict.fromkeys(point.name for point in shown if not point.whole))
    with mpl.rc_context({"svg.hashsalt": "turia", "svg.fonttype": "none"}):
        figure, grid = pyplot.subplots(
            1, len(panels), figsize=(5.2 * len(panels), 4.2), sharey=True, squeeze=False, layout="constrained"
        )
        for axes, segments in zip(grid[0], panels, strict=True):
            own = [point for point in shown if point.segments == segments and not point.whole]
            for number, name in enumerate(names):
                curve = sorted((point.al, point.bleu) for point in own if point.name == name)
                width = 2.2 if name == BASE else 1.2
                x, y = [one[0] for one in curve], [one[1] for one in curve]
                axes.plot(x, y, marker="osD^vPX*h"[number % 9], markersize=4, linewidth=width, label=name)
            for bound in (point for point in shown if point.whole):
                axes.axhline(bound.bleu, color="grey", linestyle=":", label="whole sentences")
            axes.set(xlabel="AL (source words)", title=_title(own[0], several=False))
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#dddddd", linewidth=0.6)
        grid[0][0].set_ylabel("BLEU")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


# --- where it goes ----------------------------------------------------------------------------------------------------


def store(model: Path, results: Path) -> str:
    """Makes the best policy's points the dial of a model folder, and the policy its default; says what they are."""
    tests = json.loads(results.read_text(encoding="utf-8"))["tests"]
    if any("dev" not in test["name"].split() for test in tests):
        raise SystemExit(
            f"{results}: not of a dev set, but {tests[0]['name']!r}; what is shipped is chosen on dev only"
        )
    folder = load_folder(model)
    dial = dial_of(results)
    # The usual step is the soonest that is as good as wait-k's default: the rest of the dial is for who wants another.
    least = _usual_bleu(results)
    usual = next((point for point in dial if (point.bleu or 0.0) >= least), dial[-1])
    policy = None if usual.policy.partition(":")[0] == BASE else usual.policy
    write_config(replace(folder.config, dial=dial, policy=policy), model)
    write_sums(model)
    steps = ", ".join(f"{point.policy} ({point.al}, {point.bleu})" for point in dial)
    return f"{model}: dial {steps}; default {policy or WaitK()}"


def _usual_bleu(results: Path) -> float:
    """BLEU of wait-k's default, as measured; with the segmenter, if that was run, and the widest beam."""
    found = points(json.loads(results.read_text(encoding="utf-8")))
    own = [point for point in found if point.policy.startswith(f"{BASE}:k={WaitK().k}")]
    own = [point for point in own if point.segments != "oracle"] or own
    return max(own, key=lambda point: point.beam).bleu if own else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sweep_options(parser, "docs/policies.md")
    parser.add_argument("--store", type=Path, metavar="MODEL", help="a model folder whose dial this becomes")
    options = parser.parse_args()
    for recipe in recipes_of(options, "policies-*.toml"):
        found = fill(options, recipe, section)
        results = json.loads(found.read_text(encoding="utf-8"))
        draw(results, options.page.parent / "figures" / f"{recipe.stem}.svg")
        if options.store is not None:
            print(store(options.store, found))


if __name__ == "__main__":
    main()
