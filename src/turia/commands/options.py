"""Options that several commands have, options of a server for sound, and what the user gave of them."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from turia.config import MOST_HYPOTHESES
from turia.errors import InputError

History = Annotated[int | None, typer.Option(min=0, help="Words of history; by default the model's.")]
Policy = Annotated[
    str | None,
    typer.Option(metavar="NAME[:KEY=VALUE,...]", help="When words are written: wait-k:k=4, hold-n:n=3, whole, ..."),
]
WaitK = Annotated[int | None, typer.Option("--k", min=1, help="Words to wait; short for --policy wait-k:k=K.")]
TargetLag = Annotated[
    str | None,
    typer.Option(metavar="WORDS|SECONDSs", help="Adjust the policy to keep this mean lag: 5 (words) or 3s (seconds)."),
]
Pause = Annotated[
    float,
    typer.Option(min=0, max=3600, metavar="SECONDS", help="Silence that closes a sentence; 0 for never."),
]
Beam = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_HYPOTHESES, help="Hypotheses of the search, 1 is greedy; by default the model's."),
]
KernelsOption = Annotated[
    Literal["auto", "onnx", "onnx-shared", "native"] | None,
    typer.Option(
        envvar="TURIA_KERNELS",
        help="What computes: native (the package turia-kernels), onnx, onnx-shared (processes share weights), or auto: "
        "native where it fits.",
    ),
]
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


def check_timing(policy: str | None, target_lag: str | None) -> None:
    """Refuses parameters that no server would take. A policy that is unknown here may be one of the server's own."""
    from turia.policy.lag import parse_target_lag
    from turia.policy.table import POLICIES, parse_policy

    if policy is not None and policy.strip().partition(":")[0] in POLICIES:
        parse_policy(policy)
    if target_lag is not None:
        parse_target_lag(target_lag)


def is_address(url: str) -> bool:
    """Whether it is an address of http: what is no address at all may be an error to whoever takes it apart."""
    try:
        parts = urlsplit(url)
        # A port that is none is told only when it is asked for.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def check_address(option: str, server: str) -> None:
    """Refuses what is no address of a server."""
    if not is_address(server):
        raise InputError(f"{option} {server}: expected http://HOST:PORT or https://HOST")
