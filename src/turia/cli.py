"""The command line: a table of commands, and what becomes of an error.

Rules: the commands are in `turia.commands` and import their rooms when they are called, so that `turia --help` is quick
and a command needs only what it uses. Results go to standard output, everything else to standard error. An error is one
line, `error: ...`: exit code 2 for what the user can mend, 1 for the rest; `--debug` shows the traceback instead.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from turia import __version__
from turia.commands import installed, library, live, policy, scores, segmenter, serving, training
from turia.commands.extras import missing_extra
from turia.errors import Stopped, TuriaError
from turia.text.harmless import harmless

# Typer names only this usage error; its base is the usage error of the click that it carries.
USAGE_ERROR = typer.BadParameter.__mro__[1]
INTERRUPTED = 130
COMMANDS: tuple[Callable[..., None], ...] = (
    live.translate,
    live.listen,
    serving.serve,
    live.send,
    serving.relay,
    serving.replay,
    scores.evaluate,
    scores.convert,
    scores.resegment,
    training.prepare,
    training.train,
    training.backtranslate,
    training.recase,
    training.export,
    training.import_marian,
    scores.sweep,
    installed.bench,
    installed.doctor,
)
SEGMENTER_COMMANDS: tuple[Callable[..., None], ...] = (segmenter.train, segmenter.apply)
POLICY_COMMANDS: tuple[Callable[..., None], ...] = (policy.train,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code."""
    if sys.stderr is None:
        # Closed by whoever started this. What is for nobody must not go to standard output, which `print` would do,
        # nor to a file that gets its number.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (for as long as the program runs)
    if sys.stdout is None:
        print("error: standard output is closed; send it to a file, or to /dev/null", file=sys.stderr)
        return 2
    _speak_utf8()
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in given
    try:
        code = app([word for word in given if word != "--debug"], prog_name="turia", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
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
        try:
            sys.stdout.flush()
        except OSError:
            _forget_output()
        return _exit_code(error)
    return code if isinstance(code, int) else 0


def _speak_utf8() -> None:
    """What is written is the same whatever the locale; only what is no text at all is treated as before."""
    for stream in (sys.stdout, sys.stderr):
        # Who calls `main` may have put something else in their place.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _forget_output() -> None:
    """What is left in the buffer, and cannot be written, must not complain when Python closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(error: Exception) -> int:
    if isinstance(error, TuriaError):
        return error.exit_code
    return 2 if isinstance(error, USAGE_ERROR) or missing_extra(error) else 1


def _one_line(error: Exception) -> str:
    if isinstance(error, USAGE_ERROR):
        message = error.format_message()  # type: ignore[attr-defined]
    elif isinstance(error, TuriaError):
        message = str(error)
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Without a name it is a file that is open already, as the output is.
        message = f"{error.filename or 'what was to be written'}: {error.strerror}"
    else:
        message = missing_extra(error) or f"{type(error).__name__}: {error} (--debug shows where)"
    # It may repeat what a file or a server says.
    return harmless(" ".join(message.split()))


def _print_version(asked: bool) -> None:
    if asked:
        print(f"turia {__version__}")
        raise typer.Exit


def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Streaming machine translation."""
    # `main` looks for --debug itself: it must know before anything can go wrong.


def _segmenter(context: typer.Context) -> None:
    """Train or run a segmenter, which finds sentence ends."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


def _policy(context: typer.Context) -> None:
    """Train the heads of learned policies, which decide when words are written."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


def _make_app() -> typer.Typer:
    """The table as Typer wants it."""
    whole = typer.Typer(
        name="turia",
        help="Streaming machine translation.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    whole.callback()(_options)
    for command in COMMANDS:
        whole.command()(command)
    for name, described, commands in (
        ("segmenter", _segmenter, SEGMENTER_COMMANDS),
        ("policy", _policy, POLICY_COMMANDS),
    ):
        below = typer.Typer()
        below.callback(invoke_without_command=True)(described)
        for command in commands:
            below.command()(command)
        whole.add_typer(below, name=name)
    models = typer.Typer(cls=library.ListsByDefault, help="List models, add and remove them.")
    for name, of_models in library.COMMANDS.items():
        models.command(name)(of_models)
    whole.add_typer(models, name="models")
    return whole


app = _make_app()
