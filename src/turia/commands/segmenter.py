"""`turia segmenter`: trains segmenters, which find sentence ends, and runs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A segmenter recipe.")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over and delete what was trained.")] = False,
) -> None:
    """Train the segmenter of one language, and export it.

    Trains all its windows. Continues after the last finished epoch of the run folder, if there is one.
    """
    from turia.config import SegmenterRecipe, load_recipe
    from turia.system.console import Display
    from turia.training.segmenter.training import train as learn

    with Display("segmenter") as display:
        report = learn(load_recipe(SegmenterRecipe, recipe), display.update, fresh)
    for window, f1 in report.f1.items():
        print(f"w={window} threshold {report.thresholds[window]:.4f} dev F1 {f1:.4f} (its own past boundaries)")
    print(report.folder)


def apply(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Words; by default standard input.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="A model's name or folder, or that of an exported segmenter.")
    ] = None,
    window: Annotated[int, typer.Option(min=0, help="Future words that the segmenter sees.")] = 2,
    punctuation: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Use the punctuation of this language instead of a model.")
    ] = None,
    max_words: Annotated[int, typer.Option(min=1, help="Longest sentence, in words.")] = 60,
    argmax: Annotated[
        bool, typer.Option("--argmax", help="End a sentence at probability 0.5, not at the model's threshold.")
    ] = False,
) -> None:
    """Cut a stream into sentences, one a line, as its words arrive."""
    from turia.commands.segmenter_apply import apply as cut
    from turia.commands.segmenter_apply import choose
    from turia.runtime.translator import check_segmenter, find_model

    folder = None if model is None else find_model(model)
    if folder is not None:
        check_segmenter(folder, window)
    cut(choose(folder, punctuation, window, max_words, argmax), file, sys.stdout)
