"""The commands that translate while somebody speaks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turia.commands.extras import needs
from turia.config import MOST_HYPOTHESES
from turia.errors import InputError, Stopped

Feed = Annotated[
    Literal["words", "whisper", "jsonl", "vosk", "deepgram"],
    typer.Option("--input-format", help="What is read: words, or what a recogniser prints."),
]
History = Annotated[int | None, typer.Option(min=0, help="Words of history; by default the model's.")]
Beam = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_HYPOTHESES, help="Hypotheses of the search, 1 is greedy; by default the model's."),
]


def translate(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Words; without it, standard input.")] = None,
    model: Annotated[str, typer.Option(help="A model's name or folder.")] = "de-en",
    k: Annotated[int, typer.Option(min=1, help="Words of lead: smaller is sooner, larger is better.")] = 4,
    gamma: Annotated[float | None, typer.Option(help="Target words per source word; by default the model's.")] = None,
    window: Annotated[int, typer.Option(min=0, help="Words that the segmenter looks ahead.")] = 2,
    history: History = None,
    feed: Feed = "words",
    output: Annotated[
        Literal["text", "jsonl", "srt", "vtt"], typer.Option("--format", help="What is printed.")
    ] = "text",
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Record what was written when.")] = None,
    beam: Beam = None,
    rounding: Annotated[
        Literal["floor", "ceil"], typer.Option(help="Of the policy; the authors' code has ceil.")
    ] = "floor",
    encoding: Annotated[
        Literal["incremental", "full"], typer.Option(help="Keep encoder states, or encode anew.")
    ] = "incremental",
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Trust the input's punctuation for sentence ends.")
    ] = False,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run on a GPU; needs onnxruntime-gpu.")] = False,
) -> None:
    """Translate a stream of words. Each comes the moment it is decided."""
    from turia.engine.translator import Translator
    from turia.interop.translate import run
    from turia.runtime.session import CPU, GPU

    stream = Translator.load(model, providers=GPU if gpu else CPU).stream(
        k=k, gamma=gamma, window=window, history=history, rounding=rounding, encoding=encoding, beam=beam,
        punctuation=punctuation,
    )  # fmt: skip
    if signal := run(stream, file, feed, output, trace):
        raise Stopped(signal)


def send(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Words; without it, standard input.")] = None,
    server: Annotated[str, typer.Option(metavar="URL", help="A running `turia serve`.")] = "http://127.0.0.1:8000",
    model: Annotated[str | None, typer.Option(help="A direction of the server; by default its first.")] = None,
    k: Annotated[int, typer.Option(min=1, help="Words of lead: smaller is sooner, larger is better.")] = 4,
    feed: Feed = "words",
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Trust the input's punctuation for sentence ends.")
    ] = False,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="The server's API key: its first line.")] = None,
) -> None:
    """Speak in a session of a server. The page of those who watch is printed first."""
    import asyncio

    from turia.client import Speaker
    from turia.interop.send import send as run
    from turia.interop.translate import words_of
    from turia.server.serve import read_keys

    if not server.startswith(("http://", "https://")):
        raise InputError(f"--server {server}: expected http://HOST:PORT or https://HOST")
    key = next(iter(read_keys(key_file)), None)

    async def speak() -> int:
        async with Speaker(server, model=model, k=k, punctuation=punctuation, key=key) as speaker:
            print(f"{speaker.url}/watch/{speaker.session}", file=sys.stderr, flush=True)
            return await run(speaker, words_of(file, feed), sys.stdout)

    if signal := asyncio.run(speak()):
        raise Stopped(signal)


def serve(
    host: Annotated[str, typer.Option(help="Address; others than loopback need --key-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    model: Annotated[
        list[str] | None, typer.Option(help="A model's name or folder, repeated for several; by default all installed.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="API keys, one a line.")] = None,
    origin: Annotated[list[str] | None, typer.Option(help="Let pages of this origin in: https://a.org.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where sessions are kept.")] = None,
    streams: Annotated[
        int | None, typer.Option(min=1, help="Streams at once, past which new ones are refused; by default measured.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Keep sessions in a Redis that other servers use too.")
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Serve on the Ray cluster of RAY_ADDRESS, or on one here.")
    ] = False,
    replicas: Annotated[int, typer.Option(min=1, help="With --ray: at most so many, each with --streams.")] = 1,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run on a GPU, a replica on each; needs onnxruntime-gpu.")] = False,
    beam: Beam = None,
    history: History = None,
) -> None:
    """Live captions: a web page and a WebSocket."""
    from turia.engine.translator import Translator, packaged_models
    from turia.runtime.session import CPU, GPU
    from turia.server.capacity import TOGETHER, measured_streams
    from turia.server.limits import Limits
    from turia.server.serve import Options, checked_access, data_folder
    from turia.server.serve import serve as run_server

    if store is not None:
        needs("redis")
    if store is not None and data is not None:
        raise InputError("--data is not used with --store: sessions are kept there")
    if ray and store is None:
        raise InputError("--ray needs --store, a Redis that all replicas can reach: redis://HOST:PORT/0")
    if replicas > 1 and not ray:
        raise InputError("--replicas needs --ray: without it there is one server, on this machine")
    checked_access(host, key_file, origin or ())  # before models are loaded
    names = tuple(model or packaged_models() or ["de-en"])
    providers = GPU if gpu else CPU
    loaded = [
        Translator.load(name, providers=providers, streams=streams or TOGETHER, history=history, beam=beam)
        for name in names
    ]
    directions = [translator.model.name for translator in loaded]
    if len(set(directions)) < len(directions):
        raise InputError(f"--model: one model a direction, but these are {', '.join(directions)}")
    if streams is None:
        streams = measured_streams(loaded)
        print(f"This machine holds {streams} streams at once, as measured now; --streams sets another number.")
    if ray and store is not None:
        needs("ray")
        from turia.server.on_ray import Deployed, serve_on_ray

        del loaded
        origins = tuple(origin or ())
        deployed = Deployed(
            store, names, streams, history=history, beam=beam, most=replicas, gpus=1.0 if gpu else 0.0,
            key_file=key_file, origins=origins,
        )  # fmt: skip
        serve_on_ray(deployed, host, port)
        return
    limits = Limits(streams=streams, streams_a_key=streams)
    options = Options(host, port, data or data_folder(), limits, key_file, tuple(origin or ()), store)
    run_server({translator.model.name: translator for translator in loaded}, options)
