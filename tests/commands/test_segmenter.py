"""`turia segmenter apply` as a user's shell sees it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from turia.cli import main
from turia.runtime.folder import SUMS_FILE, write_sums
from turia.runtime.home import packaged_models
from turia.segmenter.classifier import VOCABULARY_FILE


def test_the_command_takes_a_folder_or_the_name_of_a_model(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words"
    words.write_text("a b c d", encoding="utf-8")
    assert main(["segmenter", "apply", str(words), "--model", str(exported)]) == 0
    assert capsys.readouterr().out.split() == ["a", "b", "c", "d"]
    assert main(["segmenter", "apply", str(words), "--model", str(words)]) == 2
    assert capsys.readouterr().err.startswith(f"error: no model '{words}': it is no folder, and the installed models")
    if "de-en" not in packaged_models():
        pytest.skip("this package has no model")
    words.write_text("guten morgen meine damen und herren wir beginnen", encoding="utf-8")
    assert main(["segmenter", "apply", str(words), "--model", "de-en"]) == 0
    assert capsys.readouterr().out.split() == words.read_text(encoding="utf-8").split()


def test_a_segmenter_that_is_not_as_its_model_folder_says_is_refused(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    write_sums(folder)
    words = tmp_path / "words"
    words.write_text("a b c d", encoding="utf-8")
    command = ["segmenter", "apply", str(words), "--model", str(folder)]
    assert main(command) == 0
    assert capsys.readouterr().out.split() == ["a", "b", "c", "d"]
    with (folder / VOCABULARY_FILE).open("a", encoding="utf-8") as file:
        file.write("another\n")
    assert main(command) != 0
    assert f"{VOCABULARY_FILE}: altered" in capsys.readouterr().err
    sums = folder / SUMS_FILE
    kept = [line for line in sums.read_text(encoding="utf-8").splitlines() if VOCABULARY_FILE not in line]
    sums.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert main(command) != 0
    assert f"{VOCABULARY_FILE}: not in SHA256SUMS, so it cannot be checked" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_gives_out_what_it_has_read(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "turia", "segmenter", "apply", "--punctuation", "en", "--window", "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Yes. We can see ")
        process.stdin.flush()
        # The last word that is visible while two are held back.
        assert process.stdout.read(len(b"Yes.\nWe")) == b"Yes.\nWe"
        process.send_signal(number)
        # Its input is still open: only the signal can end it.
        assert process.wait() == 128 + number
        assert (process.stdout.read(), process.stderr and process.stderr.read()) == (b" can see\n", b"")
