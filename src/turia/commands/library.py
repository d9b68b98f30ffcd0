"""`turia models`: list, add and remove models.

`turia models` alone lists them, and so does `turia models MODEL`, which is a command of release 0.1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer
import typer.core

from turia.commands.extras import needs
from turia.config import MOST_HYPOTHESES

LIST = "list"


class ListsByDefault(typer.core.TyperGroup):
    """A group of commands; a word that is no command is taken for a model to list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [LIST, *args]
        return super().parse_args(ctx, args)


def list_models(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL", help="Names or folders; by default all installed models.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """List models. Shows their languages, size, licence, training data and scores."""
    from rich.console import Console

    from turia.commands.models import card_lines, installed, table

    found = installed(names or [])
    if as_json:
        print(json.dumps([model.as_json() for model in found], ensure_ascii=False))
    elif found:
        Console().print(table(found))
        for line in (line for model in found for line in card_lines(model)):
            print(line)
    else:
        print("no models are installed; `turia models add` adds one, and --model takes the folders of others")


def add(
    model: Annotated[str, typer.Argument(metavar="ID_OR_FOLDER", help="A model on the Hugging Face hub, or a folder.")],
    source: Annotated[
        str | None, typer.Option(help="Language to translate from, such as de or deu_Latn; by default the model's.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Language to translate to; by default the model's.")] = None,
    name: Annotated[str | None, typer.Option(help="Name to install it under; by default its own.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub; by default main.")] = None,
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Precision of the weights.")] = "int8",
    gamma: Annotated[float, typer.Option(help="Target words per source word.")] = 1.0,
    beam: Annotated[
        int, typer.Option(min=1, max=MOST_HYPOTHESES, help="Hypotheses of the search by default; 1 is greedy.")
    ] = 1,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME[:KEY=VALUE,...]", help="Policy that streams use by default.")
    ] = None,
    recase: Annotated[
        bool, typer.Option("--recase", help="For input without case and punctuation: give words the likely ones.")
    ] = False,
) -> None:
    """Install a model: OPUS-MT (Marian), M2M-100 or NLLB-200.

    An id is fetched from the hub; nothing else in Turia uses the network by itself. The model is converted and tested
    before it is installed.
    """
    needs("hub", "`turia models add`")
    from turia.export.offline import POLICY, Wanted
    from turia.hub.install import add as install
    from turia.system.console import Display

    wanted = Wanted(source, target, precision, gamma, beam, policy or POLICY, recase)
    with Display("add") as display:
        added = install(model, wanted, name, revision, display.update)
    origin, config = added.origin, added.config
    where = f" at revision {origin.revision}" if origin.revision else ""
    lines = [
        f"{origin.id}{where}",
        f"licence: {origin.licence or 'not said; ask its authors'}",
        f"{config.source_language} → {config.target_language}: {added.said} → {added.translated}",
    ]
    if not config.recases:
        lines.append("input: words with case and punctuation, as people write them; without, give --recase")
    if not added.finds_sentences:
        lines.append(f"no segmenter of {config.source_language!r}: the input needs punctuation (--punctuation)")
    for line in lines:
        print(line, file=sys.stderr)
    print(added.name)


def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="An added model.")]) -> None:
    """Delete a model that was added."""
    from turia.hub.remove import remove as delete

    print(delete(name))


COMMANDS: dict[str, Callable[..., None]] = {LIST: list_models, "add": add, "remove": remove}
