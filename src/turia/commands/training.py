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
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Use the Ray cluster of RAY_ADDRESS, or start one here.")] = False,
) -> None:
    """Prepare the corpora of a recipe for training. They are normalised, filtered, cut into windows and encoded."""
    from turia.config import Recipe, load_recipe
    from turia.corpus.prepare import prepare as make_shards
    from turia.corpus.report import PrepareProgress
    from turia.system.console import Display

    spread = None
    if ray:
        needs("ray")
        from turia.corpus.on_ray import on_ray
        from turia.server.on_ray import DATA_STORE, begin_ray

        begin_ray(DATA_STORE)
        spread = on_ray
    with Display("prepare") as display:

        def show(progress: PrepareProgress) -> None:
            if progress.note:
                display.say(progress.note)
            else:
                display.update(progress.share(), f"{progress.stage} {progress.detail}")

        report = make_shards(load_recipe(Recipe, recipe), show, processes, spread)
    for line in report.lines():
        print(line)


def backtranslate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A run folder, or a model's name or folder.")],
    text: Annotated[
        Path, typer.Argument(metavar="TEXT", help="One document a line, `id<TAB>text`; may be compressed.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the corpus is written.")],
    sample: Annotated[
        float,
        typer.Option(metavar="TEMPERATURE", min=0.0, help="Sample words at this temperature; 0 takes the best one."),
    ] = 0.0,
    top: Annotated[
        int, typer.Option(min=0, help="With --sample: choose among so many of the best pieces; 0: all.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="With --sample: another seed draws other words.")] = 1,
    bfloat16: Annotated[
        bool, typer.Option("--bfloat16", help="Multiply in bfloat16: quicker, on a machine that has it.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one for each core, and one with a GPU.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over and delete what is in DIR.")] = False,
) -> None:
    """Make a training corpus by back-translation. The text is translated by a model of the opposite direction.

    If it is interrupted, the same command continues where it stopped.
    """
    from turia.model.sentences import Draw
    from turia.runtime.translator import find_model
    from turia.system.console import Display
    from turia.training.backtranslate import BacktranslateJob, BacktranslateProgress
    from turia.training.backtranslate import backtranslate as write_corpus
    from turia.training.distributed import leads_here

    if top and not sample:
        raise InputError("--top is for --sample, which is not given")
    run = Path(model)
    place = run if (run / "recipe.json").exists() else find_model(model)
    with Display("backtranslate") as display:

        def show(progress: BacktranslateProgress) -> None:
            if progress.note:
                display.say(progress.note)
            else:
                display.update(progress.done / progress.total, progress.line())

        job = BacktranslateJob(place, text, Draw(sample, top), seed, bfloat16)
        report = write_corpus(job, folder, show, processes, fresh)
    if not leads_here():
        return
    for line in report.lines():
        print(line, file=sys.stderr)
    print(report.corpus(folder.absolute()))


def recase(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="`document<TAB>text<TAB>text` a line; may be compressed.")
    ],
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="The side to recase, such as de.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new corpus, a .tsv.xz file.")],
    like: Annotated[
        list[Path], typer.Option(metavar="FILE", help="A corpus as people write, to learn from; can be repeated.")
    ],
    columns: Annotated[str, typer.Option(help="Languages of the columns after the document.")] = "de,en",
) -> None:
    """Give a corpus in lower case the capitals and spaces of written text.

    A model can then learn to write that side. Lines that have capitals stay as they are.
    """
    from turia.corpus.recasing import recase as write_corpus

    print(write_corpus(corpus, language, like, out, tuple(columns.split(","))).line(), file=sys.stderr)


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A training recipe that has been prepared.")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over and delete the checkpoints of the run.")] = False,
) -> None:
    """Train a model. Continues from the newest checkpoint of the run folder, if there is one."""
    from turia.config import Recipe, load_recipe
    from turia.system.console import Display
    from turia.training.distributed import leads_here
    from turia.training.loop import Status
    from turia.training.loop import train as learn

    with Display("train") as display:

        def show(news: Status | str) -> None:
            if isinstance(news, str):
                display.say(news)
            else:
                display.update(news.share, news.line())

        folder = learn(load_recipe(Recipe, recipe), show, fresh)
    if leads_here():
        print(folder)


_OF_MODEL_FOLDERS = ("precision", "average", "segmenter", "history", "beam", "attention", "policy", "dial", "words")


def export(
    context: typer.Context,
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder of `turia train`, or a model's name or folder.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The model folder to write.")],
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Precision of the weights.")] = "int8",
    average: Annotated[
        int | None, typer.Option(min=1, help="Average so many of the newest checkpoints, instead of taking the best.")
    ] = None,
    segmenter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of an exported segmenter of the source language.")
    ] = None,
    history: Annotated[
        int | None, typer.Option(min=0, help="Default history of streams, in words; without it, the recipe's.")
    ] = None,
    beam: Annotated[
        int,
        typer.Option(min=1, max=MOST_HYPOTHESES, help="Default number of hypotheses of the search; 1 is greedy."),
    ] = 1,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER[:HEAD]",
            help="Decoder layer, and head, whose cross-attention policies see; by default the last.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME[:KEY=VALUE,...]", help="Default policy of streams; without it, wait-k:k=4."),
    ] = None,
    dial: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="results.json of a sweep; the points of its best policy become the page's dial."
        ),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Prepared data, or a run, with the lists of words that tell misspelt names; see docs/terms.md.",
        ),
    ] = None,
    hub: Annotated[
        bool,
        typer.Option("--hub", help="Write a folder for the Hugging Face hub."),
    ] = False,
    marian: Annotated[
        bool,
        typer.Option("--marian", help="Write a checkpoint for the transformers library; RUN must have Marian's shape."),
    ] = False,
    licence: Annotated[
        str | None,
        typer.Option(
            "--license", help="With --hub: licence of the model, as the hub names it. By default that of its card."
        ),
    ] = None,
) -> None:
    """Make a model folder from a trained run, or from another model.

    Options that are not given keep what the other model has.
    """
    from turia.engine.model import parse_attention
    from turia.experiments.dial import dial_of
    from turia.formats.huggingface import check_licence, copy_model, is_model, make_hub_folder
    from turia.policy.table import parse_policy
    from turia.runtime.translator import find_model

    if marian:
        if needless := typed(context, *_OF_MODEL_FOLDERS, "hub", "licence"):
            raise InputError(f"--marian writes a checkpoint, not a model folder; --{needless[0]} is for one")
        from turia.training.export.to_marian import save_as_marian

        save_as_marian(run, folder)
        print(folder)
        return
    # All that can be refused is refused before anything is written.
    if licence is not None:
        if not hub:
            raise InputError("--license is for the card of a folder for the hub; give --hub too")
        check_licence(licence)
    looked_at = None if attention is None else parse_attention(attention)
    if policy is not None:
        parse_policy(policy)
    steps = () if dial is None else dial_of(dial)
    if hub and is_model(str(run)):
        if needless := typed(context, *_OF_MODEL_FOLDERS):
            raise InputError(f"{run} is a model, which is copied as it is; --{needless[0]} is for a run")
        copy_model(str(run), folder)
    else:
        from turia.runtime.folder import CARD_FILE, NEW_CARD_FILE

        if is_model(str(run)):
            if needless := typed(context, "precision", "average", "segmenter"):
                raise InputError(f"{run} is a model, whose weights stay as they are; --{needless[0]} is for a run")
            from turia.export.again import export_model

            new_beam = beam if typed(context, "beam") else None
            export_model(
                find_model(run), folder, history, new_beam, attention=looked_at, policy=policy, dial=steps, words=words
            )
        else:
            from turia.training.export.run import export_run

            export_run(run, folder, precision, average, segmenter, history, beam, looked_at, policy, steps, words)
        if (folder / NEW_CARD_FILE).exists():
            kept = "keeps what it says" if hub else "stays as it was"
            print(f"{folder / CARD_FILE} {kept}; {NEW_CARD_FILE} has what is new", file=sys.stderr)
    if hub:
        make_hub_folder(folder, licence)
    print(folder)


def import_marian(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A Marian checkpoint in the format of Hugging Face.")],
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="The run folder to write; by default runs/NAME.")
    ] = None,
    source_language: Annotated[
        str | None, typer.Option("--source-language", "--source", help="By default read from DIR.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--target-language", "--target", help="By default read from DIR.")
    ] = None,
    gamma: Annotated[float, typer.Option(help="Target words per source word.")] = 1.0,
) -> None:
    """Make a run folder from a Marian (OPUS-MT) model, to fine-tune it. `turia models add` installs one as it is."""
    from turia.training.export.from_marian import import_marian as read

    print(read(folder, run or Path("runs") / folder.resolve().name, source_language, target_language, gamma))
