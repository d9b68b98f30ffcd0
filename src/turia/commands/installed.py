"""`turia bench` and `turia doctor`: how fast a model is, and whether the installation is in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from turia.commands.extras import has, needs
from turia.commands.options import KernelsOption, ServerRecognisers, typed
from turia.errors import InputError

if TYPE_CHECKING:
    from turia.engine.backend import Backend
    from turia.experiments.contest import Contest
    from turia.runtime.kernels import Kernels

_CONTEST_BEAMS = (1, 4)
_Size = Literal["tiny", "small", "base", "big", "75M", "230M", "600M"]


def bench(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model's name or folder; by default a preset.")
    ] = None,
    preset: Annotated[
        _Size,
        typer.Option(help="Size of a model with random weights. 75M and 230M are OPUS-MT's, 600M is NLLB-200's."),
    ] = "small",
    precision: Annotated[Literal["int8", "float32"], typer.Option(help="Precision of the random weights.")] = "int8",
    k: Annotated[int, typer.Option(min=1, help="Words to wait in each sentence.")] = 4,
    history: Annotated[int, typer.Option(min=0, help="Words of history.")] = 60,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:KEY=VALUE,...]", help="Measure only what this policy costs; may be repeated."),
    ] = None,
    contest: Annotated[
        bool, typer.Option("--contest", help="Measure only the comparison with CTranslate2; needs that package.")
    ] = False,
    beam: Annotated[
        list[int] | None, typer.Option(min=1, help="With --policy or --contest: hypotheses; may be repeated.")
    ] = None,
    naive: Annotated[bool, typer.Option(help="Measure the naive reference too, if torch is installed.")] = True,
    own_growth: Annotated[
        bool, typer.Option("--own-growth", help="Grow the long stream with the model itself, not with a tiny one.")
    ] = False,
    kernels: KernelsOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few words: a check that it works, not figures to quote.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure time per word, memory, and many streams at once.

    Reports the time of each component, and how it changes as the stream grows. If torch is installed, a naive reference
    is measured too; if ctranslate2 is installed, the same model there.
    """
    from rich.console import Console

    from turia.experiments.bench import LARGE, QUICK, Amounts
    from turia.experiments.bench import bench as run
    from turia.runtime.translator import Translator, find_model
    from turia.system.console import Display

    if policy or contest:
        _refuse_idle_options(context, "--policy" if policy else "--contest")
    if policy:
        _bench_policies(model, policy, beam or [1], quick, as_json, kernels)
        return
    if contest:
        _bench_contest(model, k, beam or list(_CONTEST_BEAMS), quick, as_json, kernels)
        return
    if beam:
        raise InputError("--beam is for --policy and --contest; the other measurements are greedy")
    trains = has("train")
    if model is not None and (needless := typed(context, "preset", "precision")):
        raise InputError(f"{model} is measured as it is; --{needless[0]} is for random weights")
    if model is None:
        needs("train", "`turia bench` without a MODEL")
    # Models of other people: they know no history, and are too large for many words or for the naive reference.
    large = model is None and preset in ("75M", "230M", "600M")
    if large and not typed(context, "history"):
        history = 0
    with Display("bench") as display, ExitStack() as stack:

        def random_folder(size: _Size) -> Path:
            from turia.export.random_model import random_folder

            return stack.enter_context(random_folder(size, precision))

        folder = random_folder(preset) if model is None else find_model(model)
        name = f"{preset}, random weights, {precision}" if model is None else folder.name
        grown = (name, folder) if own_growth or not trains else ("tiny, random weights", random_folder("tiny"))

        def naive_backend() -> Backend:
            from turia.model.naive import naive_backend
            from turia.runtime.folder import load_folder

            return naive_backend(load_folder(folder).config.shape)

        report = run(
            name,
            lambda: Translator.load(folder, kernels=kernels).model,
            (grown[0], lambda: Translator.load(grown[1], kernels=kernels).model),
            naive_backend if naive and trains and not large else None,
            QUICK if quick else LARGE if large else Amounts(),
            display.update,
            k,
            history,
        )
        alone = ""
        try:
            beside = _contest(model, k, _CONTEST_BEAMS, quick, display.update, kernels)
            report = replace(report, contest=beside)
        except InputError as reason:
            alone = str(reason)
    if as_json:
        print(json.dumps(report.as_json(), allow_nan=False))
    else:
        for table in report.tables():
            Console().print(table)
        if alone:
            print(alone)
        print(f"{report.machine}, {report.settings['kernels']}")


def _refuse_idle_options(context: typer.Context, only: str) -> None:
    """What would have no effect where a policy or the contest is measured alone."""
    idle = {name: f"--{name}" for name in ("preset", "precision", "history")}
    idle |= {"naive": "--no-naive", "own_growth": "--own-growth"}
    if only == "--policy":
        idle |= {"contest": "--contest", "k": "--k"}
    if given := typed(context, *idle):
        raise InputError(f"{idle[given[0]]} has no effect with {only}; leave it out")


def _bench_policies(
    model: str | None, policies: list[str], beams: list[int], quick: bool, as_json: bool, kernels: Kernels | None
) -> None:
    from rich.console import Console

    from turia.experiments.cost import policy_costs
    from turia.policy.table import parse_policy
    from turia.runtime.translator import Translator
    from turia.system.console import Display

    if model is None:
        raise InputError("--policy needs a MODEL: what a policy costs depends on what a trained model writes")
    chosen = [parse_policy(one) for one in policies]
    translator = Translator.load(model, kernels=kernels)
    with Display("bench") as display:
        found = policy_costs(translator, chosen, beams, 60 if quick else 300, display.update)
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
    else:
        Console().print(found.table())


def _bench_contest(
    model: str | None, k: int, beams: Sequence[int], quick: bool, as_json: bool, kernels: Kernels | None
) -> None:
    from rich.console import Console

    from turia.system.console import Display

    with Display("bench") as display:
        found = _contest(model, k, beams, quick, display.update, kernels)
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
    else:
        Console().print(found.table())


def _contest(
    name: str | None,
    k: int,
    beams: Sequence[int],
    quick: bool,
    show: Callable[[float, str], None],
    kernels: Kernels | None,
) -> Contest:
    """A model beside CTranslate2. Refused if something is missing for it."""
    if name is None:
        raise InputError(
            "the comparison with CTranslate2 needs a MODEL: a beam of random weights has nothing to decide"
        )
    if find_spec("ctranslate2") is None:
        package = "the package ctranslate2, which is no part of Turia: pip install ctranslate2"
        raise InputError(f"the comparison with CTranslate2 needs {package}")
    # Whoever has onnx can read the weights of a model folder.
    needs("hub", "the comparison with CTranslate2")
    from turia.experiments.contest import ROUNDS, contest
    from turia.experiments.cost import sample
    from turia.export.as_ctranslate2 import save_as_ctranslate2
    from turia.runtime.translator import Translator, find_model
    from turia.text.sentence_ends import sentences

    folder = find_model(name)
    model = Translator.load(folder, kernels=kernels).model
    language = model.languages[0]
    said = sentences(sample(language), language)
    with TemporaryDirectory(prefix="turia-") as other:
        save_as_ctranslate2(folder, Path(other))
        return contest(model, Path(other), said[:3] if quick else said, k, beams, 1 if quick else ROUNDS, show)


def doctor(
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Also check this running server, as a browser sees it.")
    ] = None,
    ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate of your own authority, for --server.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address of `turia serve`.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of `turia serve`.")] = 8000,
    model: Annotated[
        list[str] | None, typer.Option(help="A model's name or folder; may be repeated. By default all installed.")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder for the sessions.")] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", envvar="TURIA_STORE", help="The Redis of `turia serve --store`.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File of API keys.")] = None,
    operator_key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File of operators' keys.")] = None,
    glossary: Annotated[
        list[str] | None, typer.Option(metavar="[MODEL=]FILE", help="Table of terms; may be repeated.")
    ] = None,
    recogniser: ServerRecognisers = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Check an installation, and say what to mend. Exit code 2 if there is a problem."""
    from turia.commands.doctor import Finding, Installation, examine, worst
    from turia.commands.doctor_server import examine_server
    from turia.server.serve import data_folder

    if ca is not None and server is None:
        raise InputError("--ca is for --server: give both")
    if store is not None:
        needs("redis")
    installation = Installation(
        host, port, data or data_folder(), tuple(model or ()), key_file, store, operator_key_file,
        tuple(glossary or ()), None if recogniser is None else tuple(recogniser),
    )  # fmt: skip
    findings: list[Finding] = []
    for examined in (examine(installation), examine_server(server, ca) if server is not None else ()):
        for finding in examined:
            findings.append(finding)
            if not as_json:
                print("\n".join(finding.lines()), flush=True)
    if as_json:
        print(json.dumps([finding.as_json() for finding in findings], ensure_ascii=False))
    if worst(findings) == "problem":
        raise typer.Exit(2)
