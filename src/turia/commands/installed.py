"""The commands about models that are there: which, and how fast."""

from __future__ import annotations

import json
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turia.commands.options import typed
from turia.config import Preset
from turia.errors import InputError

if TYPE_CHECKING:
    from turia.engine.model import Backend


def bench(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model's name or folder; without it, a preset.")
    ] = None,
    preset: Annotated[Preset, typer.Option(help="Size of a model with random weights.")] = "small",
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Of the random weights.")] = "int8",
    k: Annotated[int, typer.Option(min=1, help="Words of lead.")] = 4,
    history: Annotated[int, typer.Option(min=0, help="Words of history.")] = 60,
    naive: Annotated[bool, typer.Option(help="Measure the naive reference too, where torch is installed.")] = True,
    own_growth: Annotated[
        bool, typer.Option("--own-growth", help="Grow the long stream with the model itself, not with a tiny one.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few words: to see that it works, not to quote.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure time per word, memory, and many streams at once.

    Time is told by component and as the stream grows, beside a naive reference where torch is installed.
    """
    from rich.console import Console

    from turia.console import Display
    from turia.engine.translator import Translator, find_model
    from turia.interop.bench import QUICK, Amounts
    from turia.interop.bench import bench as run

    trains = all(map(find_spec, ("onnx", "torch")))
    if model is not None and (needless := typed(context, "preset", "precision")):
        raise InputError(f"{model} is measured as it is; --{needless[0]} is for random weights")
    if model is None and not trains:
        raise InputError("random weights need the train extra (pip install 'turia[train]'); give a model instead")
    with Display("bench") as display, ExitStack() as stack:

        def random_folder(size: Preset) -> Path:
            from turia.runtime.random_model import random_folder

            return stack.enter_context(random_folder(size, precision))

        folder = random_folder(preset) if model is None else find_model(model)
        name = f"{preset}, random weights, {precision}" if model is None else folder.name
        grown = (name, folder) if own_growth or not trains else ("tiny, random weights", random_folder("tiny"))

        def naive_backend() -> Backend:
            from turia.runtime.folder import load_folder
            from turia.training.naive import naive_backend

            return naive_backend(load_folder(folder).config.shape)

        report = run(
            name,
            lambda: Translator.load(folder).model,
            (grown[0], lambda: Translator.load(grown[1]).model),
            naive_backend if naive and trains else None,
            QUICK if quick else Amounts(),
            display.update,
            k,
            history,
        )
    if as_json:
        print(json.dumps(report.as_json(), allow_nan=False))
    else:
        for table in report.tables():
            Console().print(table)
        print(report.machine)


def models(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL", help="Names or folders; without any, what is installed.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """List models and how good they are. Language pair, size, training data, scores."""
    from rich.console import Console

    from turia.interop.installed import card_lines, installed, table

    found = installed(names or [])
    if as_json:
        print(json.dumps([model.as_json() for model in found], ensure_ascii=False))
    elif found:
        Console().print(table(found))
        for line in (line for model in found for line in card_lines(model)):
            print(line)
    else:
        print("no models came with this package; `turia export` makes them, and --model takes their folders")
