"""The command line's frame: what becomes of an error, help, version, completion, pipes that close."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turia import __version__
from turia.cli import app, main
from turia.errors import InputError


def test_an_unknown_key_of_a_recipe_is_one_line_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('source_language = "de"\n[training]\nstep = 9\n', encoding="utf-8")
    assert main(["prepare", str(recipe)]) == 2
    err = capsys.readouterr().err
    assert err == f"error: {recipe}:3: unknown key 'training.step'; did you mean 'training.steps'?\n"


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three commands that do not end well, for as long as the test runs."""
    monkeypatch.setattr(app, "registered_commands", list(app.registered_commands))

    @app.command()
    def fail() -> None:
        raise RuntimeError("two\nlines")

    @app.command()
    def refuse() -> None:
        raise InputError("the server says: \x1b[2Jgo\x07ne")

    @app.command()
    def interrupt() -> None:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("faulty")
def test_a_fault_of_ours_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fail"]) == 1
    assert capsys.readouterr().err == "error: RuntimeError: two lines (--debug shows where)\n"
    assert main(["fail", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.usefixtures("faulty")
def test_an_error_gives_a_terminal_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refuse"]) == 2
    assert capsys.readouterr().err == "error: the server says: \ufffd[2Jgo\ufffdne\n"


@pytest.mark.usefixtures("faulty")
def test_an_interrupt_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interrupt"]) == 130
    assert "error" not in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Commands:" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"turia {__version__}\n"


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segmenter"]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "Usage: turia segmenter [OPTIONS] COMMAND [ARGS]..."
    assert any(line.split()[:2] == ["apply", "Cut"] for line in shown)


def test_as_a_module_into_a_pipe_that_closes() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "turia", "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


COMPLETE = """
eval "$(_TURIA_COMPLETE=source_bash turia)"
COMP_WORDS=({words}) COMP_CWORD={place}
_turia_completion turia
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("turia tra", ["translate", "train"]),
        ("turia segmenter ''", ["train", "apply"]),
        ("turia translate --inp", ["--input-format"]),
        ("turia translate --format ''", ["text", "jsonl", "srt", "vtt"]),
        ("turia evaluate --unit m", ["moses"]),
    ],
)
def test_bash_completes_commands_options_and_values(words: str, found: list[str]) -> None:
    script = COMPLETE.format(words=words, place=len(words.split()) - 1)
    command = ["bash", "-euo", "pipefail", "-c", script]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (found, "")
