"""The commands that translate while somebody speaks: `turia translate`, `listen` and `send`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turia.commands.extras import needs
from turia.commands.options import (
    Beam,
    History,
    KernelsOption,
    Pause,
    Policy,
    TargetLag,
    WaitK,
    check_address,
    check_timing,
    typed,
)
from turia.errors import InputError, Stopped
from turia.formats.asr_feeds import InputFormat
from turia.formats.output import OutputFormat
from turia.stream.silence import PAUSE
from turia.text.harmless import harmless

Feed = Annotated[
    InputFormat,
    typer.Option("--input-format", help="Format of the input: plain words, or the output of a speech recogniser."),
]
GlossaryOption = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE", help="Table of terms and their translations, read again if it changes."),
]
Segmentation = Annotated[
    Literal["model", "punctuation", "free"] | None,
    typer.Option(
        help="Where sentences end: by the model's segmenter, the input's punctuation, or the translation model itself."
    ),
]
Partials = Annotated[
    bool,
    typer.Option(
        "--partials/--no-partials",
        help="Use a recogniser's partial results to write words earlier, or ignore them.",
    ),
]
Room = Annotated[
    str | None, typer.Option(metavar="NAME", help="Show it in this room of the server (`turia serve --room`).")
]
TakeRoom = Annotated[bool, typer.Option("--take-room", help="Take the room over from whoever speaks in it.")]
Also = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL", help="Translate the same words by this model too; may be repeated."),
]
Latencies = Annotated[
    list[str] | None,
    typer.Option(
        "--latency",
        metavar="K|POLICY",
        help="A further latency for the audience to choose, such as 8; may be repeated.",
    ),
]


def translate(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Words; by default standard input.")] = None,
    model: Annotated[str, typer.Option(help="A model's name or folder.")] = "de-en",
    policy: Policy = None,
    k: WaitK = None,
    gamma: Annotated[float | None, typer.Option(help="Target words per source word; by default the model's.")] = None,
    window: Annotated[int, typer.Option(min=0, help="Future words that the segmenter sees.")] = 2,
    history: History = None,
    feed: Feed = "words",
    output: Annotated[OutputFormat, typer.Option("--format", help="Format of the output.")] = "text",
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Also record what was written when.")] = None,
    beam: Beam = None,
    rounding: Annotated[
        Literal["floor", "ceil"] | None,
        typer.Option(help="How wait-k rounds word counts: floor, or ceil as in the authors' code."),
    ] = None,
    encoding: Annotated[
        Literal["incremental", "full"], typer.Option(help="Keep encoder states, or encode again at each word.")
    ] = "incremental",
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Take sentence ends from the punctuation of the input.")
    ] = False,
    max_lag: Annotated[
        int | None,
        typer.Option(
            min=1, help="Words behind after which a word is written, even if a looking or learned policy would wait."
        ),
    ] = None,
    pause: Pause = PAUSE,
    partials: Partials = True,
    target_lag: TargetLag = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Run on a GPU; needs onnxruntime-gpu.")] = False,
    kernels: KernelsOption = None,
    glossary: GlossaryOption = None,
    segmentation: Segmentation = None,
    reverse_model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --segmentation free: a model of the opposite direction that cuts."),
    ] = None,
) -> None:
    """Translate a stream of words. Each translated word is printed as soon as it is decided."""
    from turia.commands.translate import run, warn
    from turia.runtime.glossary_file import GlossaryFile, read_glossary
    from turia.runtime.translator import Translator
    from turia.system.onnx import CPU, GPU

    if reverse_model is not None and segmentation != "free":
        raise InputError("--reverse-model is for --segmentation free")
    if glossary is not None:
        read_glossary(glossary)  # before the model is loaded
    providers = GPU if gpu else CPU
    translator = Translator.load(model, providers=providers, reverse_model=reverse_model, kernels=kernels)
    stream = translator.stream(
        policy=policy, k=k, rounding=rounding, gamma=gamma, window=window, history=history, encoding=encoding,
        beam=beam, max_lag=max_lag, target_lag=target_lag, punctuation=punctuation, segmentation=segmentation,
    )  # fmt: skip
    # The head of a trace has it only where it has an effect.
    if max_lag is not None and "max_lag" not in stream.header():
        raise InputError(f"--max-lag has no effect with policy {stream.settings.policy.name}; leave it out")
    terms = None if glossary is None else GlossaryFile(glossary, translator.model, warn)
    if signal := run(stream, file, feed, output, trace, pause, partials, terms):
        raise Stopped(signal)


def listen(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Sound or video; - is raw 16-bit sound on standard input. By default a microphone."
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="A model's name or folder.")] = "en-de",
    recogniser: Annotated[
        str, typer.Option(metavar="NAME[:FOLDER]", help="moonshine (English), vosk:FOLDER or whisper:FOLDER.")
    ] = "moonshine",
    policy: Policy = None,
    k: WaitK = None,
    target_lag: TargetLag = None,
    output: Annotated[OutputFormat, typer.Option("--format", help="Format of the output.")] = "text",
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Also record what was written when.")] = None,
    beam: Beam = None,
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Take sentence ends from the punctuation of the recogniser.")
    ] = False,
    pause: Pause = PAUSE,
    partials: Partials = True,
    fast: Annotated[
        bool, typer.Option("--fast", help="Read a file as fast as possible, not at the pace of the speech.")
    ] = False,
    rate: Annotated[int, typer.Option(min=4000, max=192_000, help="For raw sound: samples per second.")] = 16_000,
    channels: Annotated[
        int, typer.Option(min=1, max=32, help="For raw sound: number of channels; they are mixed.")
    ] = 1,
    device: Annotated[str | None, typer.Option(help="The microphone: a number or a part of its name.")] = None,
    devices: Annotated[bool, typer.Option("--devices", help="List the microphones and exit.")] = False,
    to_server: Annotated[
        str | None, typer.Option(metavar="URL", help="Send the words to a running server, which translates them.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File with the server's API key.")] = None,
    room: Room = None,
    take_room: TakeRoom = False,
    also: Also = None,
    latency: Latencies = None,
) -> None:
    """Listen to speech and translate it. Sound is recognised on this machine."""
    needs("audio", "`turia listen`")
    from turia.commands.listen import PIPE, Listener, SoundSource, run, run_to_server
    from turia.protocol.client import Speaker
    from turia.server.serve import read_keys
    from turia.speech.choice import EXTRA_OF, load_recogniser, parse_choice
    from turia.speech.microphone import device_list

    if devices:
        print(device_list() or "no microphone was found")
        return
    if file is not None and device is not None:
        raise InputError("--device is for the microphone; with a FILE there is none")
    if file is None and fast:
        raise InputError("--fast is for a FILE; a microphone is as fast as its speaker")
    if file != PIPE and (refused := typed(context, "rate", "channels")):
        known = "the system tells what a microphone gives" if file is None else "a file says itself what it holds"
        raise InputError(f"--{refused[0]} is for raw sound on standard input (-); {known}")
    needs(EXTRA_OF[parse_choice(recogniser)[0]], f"the recogniser {recogniser}")
    source = SoundSource(file, device, rate, channels, fast)
    if to_server is not None:
        idle = {"output": "--format", "trace": "--trace", "beam": "--beam"}
        if refused := typed(context, *idle):
            told = f"the server translates, so {idle[refused[0]]} is not for this command to set"
            raise InputError(f"--to-server: {told}")
        check_address("--to-server", to_server)
        check_timing(policy, target_lag)
        language = model.partition("-")[0]
        listener = Listener(load_recogniser(recogniser, language), source, pause, partials)
        key = next(iter(read_keys(key_file)), None)
        chosen = Speaker(
            to_server, model=model, k=k, policy=policy, target_lag=target_lag, punctuation=punctuation, key=key,
            pause=0.0, also=also or (), room=room, take_room=take_room, latencies=latency or (),
        )  # fmt: skip
        signal = run_to_server(chosen, listener)
    else:
        if refused := typed(context, "key_file", "room", "take_room", "also", "latency"):
            raise InputError(f"--{refused[0].replace('_', '-')} is for a server's sessions: give --to-server too")
        from turia.runtime.translator import Translator

        translator = Translator.load(model)
        stream = translator.stream(policy=policy, k=k, target_lag=target_lag, beam=beam, punctuation=punctuation)
        listener = Listener(load_recogniser(recogniser, translator.model.languages[0]), source, pause, partials)
        signal = run(stream, listener, output, trace, sys.stdout)
    if signal:
        raise Stopped(signal)


def send(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Words; by default standard input.")] = None,
    server: Annotated[str, typer.Option(metavar="URL", help="Address of a running server.")] = "http://127.0.0.1:8000",
    model: Annotated[str | None, typer.Option(help="Direction to use; by default the first of the server.")] = None,
    policy: Policy = None,
    k: WaitK = None,
    target_lag: TargetLag = None,
    feed: Feed = "words",
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Take sentence ends from the punctuation of the input.")
    ] = False,
    pause: Pause = PAUSE,
    partials: Partials = True,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File with the server's API key.")] = None,
    room: Room = None,
    take_room: TakeRoom = False,
    also: Also = None,
    segmentation: Segmentation = None,
    latency: Latencies = None,
) -> None:
    """Send words to a running server. Prints the address of the audience's page, then the translation."""
    import asyncio

    from turia.commands.send import send as run
    from turia.commands.translate import heard_in
    from turia.protocol.client import Speaker
    from turia.server.serve import read_keys

    check_address("--server", server)
    check_timing(policy, target_lag)
    key = next(iter(read_keys(key_file)), None)

    async def speak() -> int:
        chosen = Speaker(
            server, model=model, k=k, policy=policy, target_lag=target_lag, punctuation=punctuation, key=key,
            pause=0.0, also=also or (), room=room, take_room=take_room, segmentation=segmentation,
            latencies=latency or (),
        )  # fmt: skip
        async with chosen as speaker:
            pages = (speaker.page, f"Operator: {speaker.operator_page}")
            print(*map(harmless, pages), sep="\n", file=sys.stderr, flush=True)
            return await run(speaker, heard_in(file, feed, pause, partials), sys.stdout, pause=pause)

    if signal := asyncio.run(speak()):
        raise Stopped(signal)
