"""`turia policy`: trains the heads of learned policies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from turia.commands.extras import needs


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A policy recipe.")],
) -> None:
    """Train the heads of learned policies for a model. Writes the model with its heads to a new folder."""
    needs("train")
    from turia.config import PolicyRecipe, load_recipe
    from turia.system.console import Display
    from turia.training.policy.training import train as learn

    chosen = load_recipe(PolicyRecipe, recipe)
    if "/" in chosen.model:  # a folder, relative to the recipe's own as all paths are
        chosen = replace(chosen, model=str(recipe.parent / Path(chosen.model).expanduser()))
    if chosen.chunk.delays:
        needs("align", "word alignment")
    with Display("policy") as display:
        report = learn(chosen, display.update)
    for line in report.lines():
        print(line)
    print(report.folder)
