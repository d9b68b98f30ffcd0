"""The README tells the truth: its commands run, its output is what comes out, and CI runs its test command."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer.main

from turia.cli import app, main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def marked_block(marker: str) -> str:
    """The code block under the comment `<!-- marker -->`."""
    found = re.findall(rf"^<!-- {marker} -->\n```\w*\n(.*?)\n```$", README, flags=re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"README has {len(found)} code blocks marked {marker!r}, expected one"
    return str(found[0])


def steps(marker: str) -> list[list[str]]:
    """A command of the README, taken apart at its `&&`."""
    return [shlex.split(step) for step in marked_block(marker).split("&&")]


def lines(text: str) -> list[str]:
    """What a reader compares: no blank lines, no padding, whatever release of sacrebleu is installed."""
    kept = (re.sub(r"\|version:\S+", "", line).rstrip() for line in text.splitlines())
    return [line for line in kept if line]


@pytest.mark.parametrize(("marker", "extra"), [("main command", "."), ("test command", ".[dev]")])
def test_each_command_is_one_line_that_installs_first(marker: str, extra: str) -> None:
    assert "\n" not in marked_block(marker)
    environment, install = steps(marker)[:2]
    assert environment == ["python3", "-m", "venv", ".venv"]
    assert install[:2] == [".venv/bin/pip", "install"]
    assert install[-1] == extra


def test_the_main_command_prints_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *arguments = steps("main command")[-1]
    assert program == ".venv/bin/turia"
    monkeypatch.chdir(ROOT)
    assert main(arguments) == 0
    assert lines(capsys.readouterr().out) == lines(marked_block("its output"))


def test_the_line_of_the_trace_is_in_the_trace() -> None:
    shown = re.findall(r'^ {4}(\{"type":.*\})$', README, flags=re.MULTILINE)
    trace = (ROOT / "examples/speech/trace.jsonl").read_text(encoding="utf-8").split("\n")
    assert shown
    assert set(shown) <= set(trace)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """`.ci/run` says which command it would run; it reads it off the README."""
    result = subprocess.run([ROOT / ".ci/run", "--show"], capture_output=True, text=True, check=False, cwd=ROOT.parent)
    assert result.returncode == 0, result.stderr
    assert result.stdout == marked_block("test command") + "\n"


def test_every_command_named_exists_unless_it_is_said_to_come() -> None:
    command = r"(?:`|^ {4}|-m |/)turia ([a-z]+(?:-[a-z]+)*)"
    coming = set(re.findall(command, "".join(re.findall(r"\*\*Not yet:\*\*.*?\n\n", README, re.DOTALL))))
    named = set(re.findall(command, README, re.MULTILINE))
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert "evaluate" in named
    assert named - coming <= known
    assert not coming & known, "what has come is no longer coming"


@pytest.mark.parametrize(
    "target", sorted({*re.findall(r"\]\(([^)#]+)", README), *re.findall(r"\b(?:recipes|examples)/[\w./-]+", README)})
)
def test_links_and_files_are_there(target: str) -> None:
    assert (ROOT / target).exists()
