"""Which options a user gave, for commands that refuse some beside others; and the options of a server for sound."""

from __future__ import annotations

from typing import Annotated

import typer

ServerRecognisers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[LANGUAGE=]NAME[:FOLDER]",
        help="Recognise speakers' sound: moonshine (English; the default if installed), de=vosk:FOLDER, none.",
    ),
]
Listeners = Annotated[
    int | None, typer.Option(min=1, help="Speakers whose sound is recognised at once. By default measured.")
]
BrowserSpeech = Annotated[
    bool,
    typer.Option(
        "--browser-speech",
        help="Let the page use the browser's recognition for other languages; some browsers send sound elsewhere.",
    ),
]


def typed(context: typer.Context, *parameters: str) -> list[str]:
    """Those of the parameters that the user gave, even if with the default value."""
    sources = {name: context.get_parameter_source(name) for name in parameters}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
