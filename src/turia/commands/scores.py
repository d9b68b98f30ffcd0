"""The commands that score streams, or write them for the scorers of others."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turia.commands.extras import needs
from turia.errors import InputError
from turia.evaluation.latency import DAL_SCALE
from turia.evaluation.options import Convention, EvaluationOptions, Unit
from turia.text.counted import counted

Files = list[Path] | None
WIDE = 200
"""Letters in a line of a table that goes into a file: there is no terminal whose width counts."""


def evaluate(
    source: Annotated[Files, typer.Option(metavar="FILE", help="Source text, one sentence a line.")] = None,
    reference: Annotated[Files, typer.Option(metavar="FILE", help="Reference translation, line by line.")] = None,
    trace: Annotated[Files, typer.Option(metavar="FILE", help="Trace of the stream.")] = None,
    hypothesis: Annotated[Files, typer.Option(metavar="FILE", help="Translated words; needs --actions.")] = None,
    actions: Annotated[
        Files, typer.Option(metavar="FILE", help="R (read) and W (write) in order, one W for each word.")
    ] = None,
    resegmented: Annotated[
        Files, typer.Option(metavar="FILE", help="The hypothesis, already cut at the lines of the reference.")
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SimulEval's instances.log; replaces all other files.")
    ] = None,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Each line is a stream of its own, with its own actions.")
    ] = False,
    latency: Annotated[list[Convention] | None, typer.Option(help="Also report latency in this convention.")] = None,
    dal_scale: Annotated[float, typer.Option(help="The scale s of DAL.")] = DAL_SCALE,
    unit: Annotated[Unit, typer.Option(help="What one W stands for: a word, or a Moses token.")] = Unit.WORD,
    language: Annotated[str, typer.Option(help="Target language, to join Moses tokens.")] = "en",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Resamples for confidence intervals of BLEU and chrF; 0: none.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score streams: latency, BLEU, chrF. For several streams, repeat the file options in the same order."""
    from rich.console import Console

    from turia.evaluation.inputs import load_streams
    from turia.evaluation.report import evaluate as score
    from turia.formats.simuleval_log import read_instances

    if not 0 <= dal_scale <= 100:
        raise InputError(f"--dal-scale is {dal_scale}, expected a number from 0 to 100")
    if bootstrap == 1:
        raise InputError("--bootstrap is 1, expected 0 for no interval, or 2 resamples or more")
    if instances is not None and (source or reference or trace or hypothesis or actions or resegmented):
        raise InputError("--instances has sources and references of its own; give no other files with it")
    if instances is not None and sentences:
        raise InputError("--sentences is for files of lines; each instance of --instances is a stream as it is")
    if instances is None and not (source and reference):
        raise InputError("expected --source and --reference, or --instances with a log that holds both")
    if instances is not None:
        streams = read_instances(instances)
    else:
        streams = load_streams(
            source or [], reference or [], trace or [], hypothesis or [], actions or [], resegmented or [], sentences
        )
    report = score(streams, EvaluationOptions(dal_scale, unit, language, tuple(latency or ()), bootstrap))
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False, allow_nan=False))
    else:
        Console().print(report.as_table())
        print(f"{counted(report.sentences, 'sentence')}, {report.empty} of them without words")
        print(report.signature)
        for figure in report.signed():
            print(f"{figure.name}|{figure.signature}")


def convert(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the files.")],
    to: Annotated[Literal["simuleval", "omnisteval", "simulstream", "actions"], typer.Option(help="Format to write.")],
    source: Annotated[list[Path], typer.Option(metavar="FILE", help="Source text, one sentence a line.")],
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="Reference translation, line by line.")],
    trace: Annotated[list[Path], typer.Option(metavar="FILE", help="Trace of the stream.")],
) -> None:
    """Write traces as logs for other scorers. For several streams, repeat the file options in the same order."""
    from turia.formats.convert import convert as write

    for path in write(folder, to, source, reference, trace):
        print(path)


def resegment(
    hypothesis: Annotated[Path, typer.Option(metavar="FILE", help="Words of a stream, in lines of any length.")],
    reference: Annotated[Path, typer.Option(metavar="FILE", help="Reference, one sentence a line.")],
) -> None:
    """Cut a hypothesis at the sentences of a reference."""
    from turia.evaluation.inputs import read_lines
    from turia.evaluation.resegment import resegment as cut

    words = [word for line in read_lines(hypothesis, may_be_blank=True) for word in line.split()]
    for sentence in cut(words, read_lines(reference)):
        print(" ".join(sentence))


def sweep(
    recipes: Annotated[list[Path], typer.Argument(metavar="RECIPE", help="Sweep recipes, run one after the other.")],
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Translate everything again.")] = False,
) -> None:
    """Translate and score test sets with many settings. Draws quality against latency."""
    from rich.console import Console

    from turia.experiments.sweep.rows import tables
    from turia.experiments.sweep.run import ready
    from turia.experiments.sweep.run import sweep as run
    from turia.system.console import Display

    needs("plot")
    for recipe in recipes[1:]:  # the first one is looked at when it is run
        ready(recipe)
    for recipe in recipes:
        with Display("sweep") as display:
            results = run(recipe, display.update, processes or os.cpu_count() or 1, fresh)
        console = Console(width=None if sys.stdout.isatty() else WIDE)
        for table in tables(results.rows):
            console.print(table)
        print(results.folder)
