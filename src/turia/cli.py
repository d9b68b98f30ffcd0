"""The command line: a table of commands. Each reads its options and calls one function of a room.

Rules: rooms are imported inside the commands, so that `turia --help` is quick and a command needs only what it
uses. Results go to standard output, everything else to standard error. An error is one line, `error: ...`: exit code
2 for what the user can mend, 1 for the rest; `--debug` shows the traceback instead.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turia import __version__
from turia.errors import InputError, Stopped, TuriaError
from turia.evaluation.latency import DAL_SCALE
from turia.evaluation.options import Convention, Options, Unit

if TYPE_CHECKING:
    from turia.engine.model import Backend

# Typer names only this usage error; its base is the usage error of the click that it carries.
USAGE_ERROR = typer.BadParameter.__mro__[1]
INTERRUPTED = 130
# Packages of the extras, by what is imported.
EXTRAS = {"train": ("onnx", "onnxscript", "py3langid", "safetensors", "torch"), "redis": ("redis",), "ray": ("ray",)}

app = typer.Typer(
    name="turia",
    help="Streaming machine translation.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in given
    try:
        code = app([word for word in given if word != "--debug"], prog_name="turia", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; what is left in the buffer must not complain when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Stopped as stopped:
        return stopped.exit_code
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            print(f"error: {_one_line(error)}", file=sys.stderr)
        return _exit_code(error)
    return code if isinstance(code, int) else 0


def _exit_code(error: Exception) -> int:
    if isinstance(error, TuriaError):
        return error.exit_code
    return 2 if isinstance(error, USAGE_ERROR) or _missing_extra(error) else 1


def _missing_extra(error: Exception) -> str | None:
    """The extra that a package belongs to which is not installed."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    package = error.name.partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if package in packages), None)


def _one_line(error: Exception) -> str:
    if isinstance(error, USAGE_ERROR):
        message = error.format_message()  # type: ignore[attr-defined]
    elif isinstance(error, TuriaError):
        message = str(error)
    elif extra := _missing_extra(error):
        message = f"this needs the {extra} extra of Turia; install it: pip install 'turia[{extra}]'"
    else:
        message = f"{type(error).__name__}: {error} (--debug shows where)"
    return " ".join(message.split())


def _needs(extra: str) -> None:
    if find_spec(extra) is None:
        raise InputError(f"this needs the {extra} extra: pip install 'turia[{extra}]'")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"turia {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Streaming machine translation."""
    # `main` looks for --debug itself: it must know before anything can go wrong.


Files = list[Path] | None
Preset = Literal["tiny", "small", "base", "big"]


@app.command()
def translate(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Words; without it, standard input.")] = None,
    model: Annotated[str, typer.Option(help="A model's name or folder.")] = "de-en",
    k: Annotated[int, typer.Option(min=1, help="Words of lead: smaller is sooner, larger is better.")] = 4,
    gamma: Annotated[float | None, typer.Option(help="Target words per source word; by default the model's.")] = None,
    window: Annotated[int, typer.Option(min=0, help="Words that the segmenter looks ahead.")] = 2,
    history: Annotated[int | None, typer.Option(min=0, help="Words of history; by default the model's.")] = None,
    feed: Annotated[
        Literal["words", "whisper", "jsonl", "vosk", "deepgram"],
        typer.Option("--input-format", help="What is read: words, or what a recogniser prints."),
    ] = "words",
    output: Annotated[
        Literal["text", "jsonl", "srt", "vtt"], typer.Option("--format", help="What is printed.")
    ] = "text",
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Record what was written when.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses of the speculative beam; 1 is greedy.")] = 1,
    rounding: Annotated[
        Literal["floor", "ceil"], typer.Option(help="Of the policy; the authors' code has ceil.")
    ] = "floor",
    encoding: Annotated[
        Literal["incremental", "full"], typer.Option(help="Keep encoder states, or encode anew.")
    ] = "incremental",
    punctuation: Annotated[
        bool, typer.Option("--punctuation", help="Trust the input's punctuation for sentence ends.")
    ] = False,
) -> None:
    """Translate a stream of words, each word the moment it is decided."""
    from turia.engine.translator import Translator
    from turia.interop.translate import run

    stream = Translator.load(model).stream(
        k=k, gamma=gamma, window=window, history=history, rounding=rounding, encoding=encoding, beam=beam,
        punctuation=punctuation,
    )  # fmt: skip
    if signal := run(stream, file, feed, output, trace):
        raise Stopped(signal)


@app.command()
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
) -> None:
    """Live captions: a web page and a WebSocket."""
    from turia.engine.translator import Translator, packaged_models
    from turia.server.capacity import TOGETHER, measured_streams
    from turia.server.limits import Limits
    from turia.server.serve import Options, data_folder
    from turia.server.serve import serve as run_server

    if store is not None:
        _needs("redis")
    if ray and store is None:
        raise InputError("--ray needs --store, a Redis that all replicas can reach: redis://HOST:PORT/0")
    names = tuple(model or packaged_models() or ["de-en"])
    loaded = [Translator.load(name, streams=streams or TOGETHER) for name in names]
    if streams is None:
        streams = measured_streams(loaded)
        print(f"This machine holds {streams} streams at once, as measured now; --streams sets another number.")
    if ray and store is not None:
        _needs("ray")
        from turia.server.on_ray import Deployed, serve_on_ray

        del loaded
        origins = tuple(origin or ())
        serve_on_ray(Deployed(store, names, streams, most=replicas, key_file=key_file, origins=origins), host, port)
        return
    limits = Limits(streams=streams, streams_a_key=streams)
    options = Options(host, port, data or data_folder(), limits, key_file, tuple(origin or ()), store)
    run_server({translator.model.name: translator for translator in loaded}, options)


@app.command()
def evaluate(
    source: Annotated[Files, typer.Option(metavar="FILE", help="Source, one reference sentence a line.")] = None,
    reference: Annotated[Files, typer.Option(metavar="FILE", help="Reference, line by line.")] = None,
    trace: Annotated[Files, typer.Option(metavar="FILE", help="Turia's record of the stream.")] = None,
    hypothesis: Annotated[Files, typer.Option(metavar="FILE", help="Words written, with --actions.")] = None,
    actions: Annotated[Files, typer.Option(metavar="FILE", help="R and W, a W for each word.")] = None,
    resegmented: Annotated[
        Files, typer.Option(metavar="FILE", help="Hypothesis cut at the reference's lines, to skip our own cuts.")
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SimulEval's instances.log, in place of all other files.")
    ] = None,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Each line is a stream of its own, with its own actions.")
    ] = False,
    latency: Annotated[list[Convention] | None, typer.Option(help="Report this convention's latency too.")] = None,
    dal_scale: Annotated[float, typer.Option(help="Scale of the step in DAL.")] = DAL_SCALE,
    unit: Annotated[Unit, typer.Option(help="What one WRITE stands for.")] = Unit.WORD,
    language: Annotated[str, typer.Option(help="Target language, for Moses tokens.")] = "en",
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples for confidence intervals of BLEU and chrF.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score streams: latency, BLEU, chrF. For several streams, repeat the file options in step."""
    from rich.console import Console

    from turia.evaluation.inputs import load_streams
    from turia.evaluation.report import evaluate as score
    from turia.interop.simuleval_log import read_instances

    if not 0 <= dal_scale <= 100:
        raise InputError(f"--dal-scale is {dal_scale}, expected a number from 0 to 100")
    if bootstrap == 1:
        raise InputError("--bootstrap is 1, expected 0 for no interval, or 2 resamples or more")
    if instances is not None and (source or reference or trace or hypothesis or actions or resegmented):
        raise InputError("--instances has sources and references of its own; give no other files with it")
    if instances is None and not (source and reference):
        raise InputError("expected --source and --reference, or --instances with a log that holds both")
    if instances is not None:
        streams = read_instances(instances)
    else:
        streams = load_streams(
            source or [], reference or [], trace or [], hypothesis or [], actions or [], resegmented or [], sentences
        )
    report = score(streams, Options(dal_scale, unit, language, tuple(latency or ()), bootstrap))
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False, allow_nan=False))
    else:
        Console().print(report.as_table())
        print(f"{report.sentences} sentences, {report.empty} of them without words")
        print(report.signature)
        print(f"BLEU|{report.bleu.signature}")
        print(f"chrF|{report.chrf.signature}")


@app.command()
def convert(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")],
    to: Annotated[Literal["simuleval", "omnisteval", "simulstream", "actions"], typer.Option(help="Whose format.")],
    source: Annotated[list[Path], typer.Option(metavar="FILE", help="Source, one reference sentence a line.")],
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="Reference, line by line.")],
    trace: Annotated[list[Path], typer.Option(metavar="FILE", help="Turia's record of the stream.")],
) -> None:
    """Write traces as the logs that other scorers read. For several streams, repeat the file options in step."""
    from turia.interop.convert import convert as write

    for path in write(folder, to, source, reference, trace):
        print(path)


@app.command()
def resegment(
    hypothesis: Annotated[Path, typer.Option(metavar="FILE", help="Words of a stream, in lines of any length.")],
    reference: Annotated[Path, typer.Option(metavar="FILE", help="The sentences to cut at, one a line.")],
) -> None:
    """Cut a hypothesis at the reference's lines."""
    from turia.evaluation.inputs import read_lines
    from turia.evaluation.resegment import resegment as cut

    words = [word for line in read_lines(hypothesis, may_be_blank=True) for word in line.split()]
    for sentence in cut(words, read_lines(reference)):
        print(" ".join(sentence))


@app.command()
def prepare(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A training recipe.")],
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Work on the Ray cluster of RAY_ADDRESS, or on one here.")] = False,
) -> None:
    """Make shards of a recipe's corpora: normalised, filtered, windowed, encoded."""
    from turia.config import Recipe
    from turia.console import Display
    from turia.corpus.prepare import prepare as make_shards
    from turia.corpus.report import Progress
    from turia.typed import load_toml

    spread = None
    if ray:
        _needs("ray")
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

        report = make_shards(load_toml(Recipe, recipe), show, processes, spread)
    for line in report.lines():
        print(line)


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A training recipe, prepared before.")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; the run's checkpoints are deleted.")] = False,
) -> None:
    """Train a model. Goes on from the run folder's newest checkpoint, if there is one."""
    from turia.config import Recipe
    from turia.console import Display
    from turia.training.loop import Status
    from turia.training.loop import train as learn
    from turia.typed import load_toml

    with Display("train") as display:

        def show(news: Status | str) -> None:
            if isinstance(news, str):
                display.say(news)
            else:
                display.update(news.share, news.line())

        folder = learn(load_toml(Recipe, recipe), show, fresh)
    print(folder)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `turia train`.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The model folder to write.")],
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Of the weights.")] = "int8",
    average: Annotated[
        int | None, typer.Option(min=1, help="Mean of so many newest checkpoints, in place of the best one.")
    ] = None,
    segmenter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="An exported segmenter of the source language.")
    ] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="For the Hugging Face hub; RUN may be a model's name or folder then.")
    ] = False,
    licence: Annotated[
        str, typer.Option("--license", help="With --hub: the model's, as the hub names it.")
    ] = "unknown",
) -> None:
    """Make a model folder, which `turia translate` and `turia serve` load, from a trained run."""
    from turia.interop.hub import copy_model, make_hub_folder

    if not (hub and copy_model(str(run), folder)):
        from turia.training.export import export_run

        export_run(run, folder, precision, average, segmenter)
    if hub:
        make_hub_folder(folder, licence)
    print(folder)


@app.command("import-marian")
def import_marian(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A Marian checkpoint of Hugging Face.")],
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="The run folder to write; by default runs/NAME.")
    ] = None,
    source_language: Annotated[str | None, typer.Option(help="By default as DIR says.")] = None,
    target_language: Annotated[str | None, typer.Option(help="By default as DIR says.")] = None,
    gamma: Annotated[float, typer.Option(help="Target words per source word.")] = 1.0,
) -> None:
    """Make a run of a Marian (OPUS-MT) model: `turia export` makes it stream, `turia train` adapts it."""
    from turia.training.marian import import_marian as read

    print(read(folder, run or Path("runs") / folder.resolve().name, source_language, target_language, gamma))


@app.command()
def sweep(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A sweep recipe.")],
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Translate again what is done already.")] = False,
) -> None:
    """Translate and score test sets with every k, segmentation and history of a recipe; draw the curves."""
    from rich.console import Console

    from turia.console import Display
    from turia.interop.sweep_results import sweep as run
    from turia.interop.sweep_results import tables

    with Display("sweep") as display:
        results = run(recipe, display.update, processes or os.cpu_count() or 1, fresh)
    for table in tables(results.rows):
        Console().print(table)
    print(results.folder)


@app.command()
def bench(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model's name or folder; without it, a preset.")
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
    """Measure time per word and component, memory, cost as the stream grows, and many streams at once."""
    from rich.console import Console

    from turia.console import Display
    from turia.engine.translator import Translator, find_model
    from turia.interop.bench import QUICK, Amounts
    from turia.interop.bench import bench as run

    trains = all(map(find_spec, ("onnx", "torch")))
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


@app.command()
def models(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Names or folders; without any, what is installed.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """List models: language pair, size, what they were trained on, how good they are."""
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


segmenter = typer.Typer(help="The stream segmenter: where sentences end.", no_args_is_help=True)
app.add_typer(segmenter, name="segmenter")


@segmenter.command("train")
def segmenter_train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A segmenter recipe.")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over.")] = False,
) -> None:
    """Train the segmenter of one language, for all its windows, and export it.

    Goes on after the run folder's last finished epoch, if there is one.
    """
    from turia.config import SegmenterRecipe
    from turia.console import Display
    from turia.segmenter.training import train
    from turia.typed import load_toml

    with Display("segmenter") as display:
        report = train(load_toml(SegmenterRecipe, recipe), display.update, fresh)
    for window, f1 in report.f1.items():
        print(f"w={window} threshold {report.thresholds[window]:.4f} dev F1 {f1:.4f} (its own past boundaries)")
    print(report.folder)


@segmenter.command("apply")
def segmenter_apply(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Words; without it, standard input.")] = None,
    model: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder of an exported segmenter.")] = None,
    window: Annotated[int, typer.Option(min=0, help="Future words to look at.")] = 2,
    punctuation: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Trust the punctuation of the input, in place of a model.")
    ] = None,
    max_words: Annotated[int, typer.Option(min=1, help="Longest sentence.")] = 60,
    argmax: Annotated[bool, typer.Option("--argmax", help="Decide at 0.5, not at the model's threshold.")] = False,
) -> None:
    """Cut a stream into sentences, one a line, as its words come."""
    from turia.segmenter.apply import apply, choose

    chosen = choose(model, punctuation, window, max_words, argmax)
    apply(chosen, file, sys.stdout)
