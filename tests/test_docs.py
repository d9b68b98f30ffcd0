"""Pages of docs/ with commands to paste: each such block is run as it stands, in a folder that has what a reader has.
The blocks of the Python page are one program.

A reader has the examples, the model de-en, which came with Turia (where it did not, a folder of that name with a tiny
model stands in for it), and what a page tells of: a Marian checkpoint is a tiny one with random weights.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.conftest import model_folder
from tests.interop.scorers import install_scorers
from tests.training.marian_checkpoint import write_checkpoint
from turia.cli import main

__all__ = ["model_folder"]

ROOT = Path(__file__).parents[1]
SCREEN = 64
"""Lines of a page that a reader sees at once, on a tall screen."""
PAGES = ("asr", "evaluate", "hub", "logs", "marian", "rest", "simuleval", "subtitles", "translate")


def blocks(page: str, language: str = "sh") -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^<!-- run -->\n```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def reader(tmp_path: Path, model_folder: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "de-en").symlink_to(model_folder)
    return tmp_path


@pytest.mark.parametrize(("page", "block"), [(page, block) for page in PAGES for block in blocks(page)])
def test_what_a_page_says_to_run_runs(page: str, block: str, reader: Path) -> None:
    places = [Path(sys.executable).parent]
    more: dict[str, str] = {}
    if "simuleval --agent" in block or "omnisteval longform" in block:
        scorers = install_scorers()
        places.append(scorers.folder / "bin")
        more = scorers.environment()
    if "curl " in block and shutil.which("curl") is None:
        pytest.skip("needs curl, which is not here")
    if "opus-mt-de-en" in block:
        write_checkpoint(reader / "opus-mt-de-en")
    path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    command = ["bash", "-euo", "pipefail", "-c", block]
    environment = os.environ | {"PATH": path, "XDG_STATE_HOME": str(reader / "state"), **more}
    result = subprocess.run(command, cwd=reader, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_program_of_the_python_page_runs(reader: Path) -> None:
    program = "\n".join(blocks("python", "python"))
    assert {"load", "restore", "run_together", "GivenSegmenter"} <= set(re.findall(r"\w+", program))
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=reader, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    # The words are the model's, and the next one has others.
    assert result.stdout.endswith("the stream has ended; begin a new one\n")


def test_the_example_prints_what_turia_translate_prints(
    reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ROOT / "examples/speech/source.de"
    monkeypatch.chdir(reader)
    with source.open(encoding="utf-8") as spoken:
        monkeypatch.setattr(sys, "stdin", spoken)
        runpy.run_path(str(ROOT / "examples/translate.py"))
    example = capsys.readouterr().out
    assert main(["translate", str(source)]) == 0
    assert example.split() == capsys.readouterr().out.split() != []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_on_a_screen_and_has_something_to_run(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= SCREEN
    assert blocks(page)


@pytest.mark.parametrize("page", [*PAGES, "python"])
def test_what_a_page_links_to_is_there(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / "docs" / target).exists(), target
