"""The commands from corpora to a model folder. They need the train extra."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turia.commands.extras import needs
from turia.commands.options import typed
from turia.config import MOST_HYPOTHESES
from turia.errors import InputError


def prepare(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A training recipe.")],
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Work on the Ray cluster of RAY_ADDRESS, or on one here.")] = False,
) -> None:
    """Make shards of a recipe's corpora. They are normalised, filtered, windowed and encoded."""
    from turia.config import Recipe, load_recipe
    from turia.console import Display
    from turia.corpus.prepare import prepare as make_shards
    from turia.corpus.report import Progress

    spread = None
    if ray:
        needs("ray")
        from turia.corpus.on_ray import on_ray
        from turia.server.on_ray import DATA_STORE, begin_ray

        begin_ray(DATA_STORE)
        spread = on_ray
    with Display("prepare") as display:

        def show(progress: Progress) -> None:
            if progress.note:
                display.say(progress.note)
            else:
                display.update(progress.share(), f"{progress.stage} {progress.detail}")

        report = make_shards(load_recipe(Recipe, recipe), show, processes, spread)
    for line in report.lines():
        print(line)


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A training recipe, prepared before.")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; the run's checkpoints are deleted.")] = False,
) -> None:
    """Train a model. Goes on from the run folder's newest checkpoint, if there is one."""
    from turia.config import Recipe, load_recipe
    from turia.console import Display
    from turia.training.loop import Status
    from turia.training.loop import train as learn

    with Display("train") as display:

        def show(news: Status | str) -> None:
            if isinstance(news, str):
                display.say(news)
            else:
                display.update(news.share, news.line())

        folder = learn(load_recipe(Recipe, recipe), show, fresh)
    print(folder)


def export(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `turia train`.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The model folder to write.")],
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Of the weights.")] = "int8",
    average: Annotated[
        int | None, typer.Option(min=1, help="Mean of so many newest checkpoints, in place of the best one.")
    ] = None,
    segmenter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="An exported segmenter of the source language.")
    ] = None,
    history: Annotated[
        int | None, typer.Option(min=0, help="Words of history that it has by default, in place of the recipe's.")
    ] = None,
    beam: Annotated[
        int,
        typer.Option(min=1, max=MOST_HYPOTHESES, help="Hypotheses of the search that it has by default; 1 is greedy."),
    ] = 1,
    hub: Annotated[
        bool, typer.Option("--hub", help="For the Hugging Face hub; RUN may be a model's name or folder then.")
    ] = False,
    licence: Annotated[
        str | None,
        typer.Option("--license", help="With --hub: the model's, as the hub names it. By default its card's, if any."),
    ] = None,
) -> None:
    """Make a model folder from a trained run. `turia translate` and `turia serve` load it."""
    from turia.interop.hub import check_licence, copy_model, is_model, make_hub_folder

    # All that can be refused is refused before anything is written.
    if licence is not None:
        if not hub:
            raise InputError("--license is for the card of a folder for the hub; give --hub too")
        check_licence(licence)
    if hub and is_model(str(run)):
        if needless := typed(context, "precision", "average", "segmenter", "history", "beam"):
            raise InputError(f"{run} is a model, which is copied as it is; --{needless[0]} is for a run")
        copy_model(str(run), folder)
    else:
        from turia.runtime.folder import CARD_FILE, NEW_CARD_FILE
        from turia.training.export import export_run

        export_run(run, folder, precision, average, segmenter, history, beam)
        if (folder / NEW_CARD_FILE).exists():
            kept = "keeps what it says" if hub else "stays as it was"
            print(f"{folder / CARD_FILE} {kept}; {NEW_CARD_FILE} has what is new", file=sys.stderr)
    if hub:
        make_hub_folder(folder, licence)
    print(folder)


def import_marian(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A Marian checkpoint of Hugging Face.")],
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="The run folder to write; by default runs/NAME.")
    ] = None,
    source_language: Annotated[str | None, typer.Option(help="By default as DIR says.")] = None,
    target_language: Annotated[str | None, typer.Option(help="By default as DIR says.")] = None,
    gamma: Annotated[float, typer.Option(help="Target words per source word.")] = 1.0,
) -> None:
    """Make a run of a Marian (OPUS-MT) model. `turia export` makes it stream, `turia train` adapts it."""
    from turia.training.marian import import_marian as read

    print(read(folder, run or Path("runs") / folder.resolve().name, source_language, target_language, gamma))
