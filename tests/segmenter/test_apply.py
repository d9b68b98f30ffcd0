"""One sentence a line."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.cli import main
from turia.engine.translator import packaged_models
from turia.errors import InputError
from turia.runtime.folder import SUMS_FILE, write_sums
from turia.segmenter.apply import choose, pieces
from turia.segmenter.classifier import VOCABULARY_FILE, Classifier
from turia.segmenter.online import GivenSegmenter


def test_words_are_written_as_they_become_visible() -> None:
    segmenter = GivenSegmenter([2, 1, 2], window=1)
    assert list(pieces(segmenter, ["a", "b", "c", "d"])) == ["", "a", " b\n", "c\n", "d\n"]


def test_a_line_is_closed_late() -> None:
    assert list(pieces(GivenSegmenter([3]), ["a", "b"])) == ["a", " b", "\n"]
    assert list(pieces(GivenSegmenter([]), [])) == [""]


@given(st.lists(st.integers(1, 5)), st.integers(0, 3))
def test_together_they_are_the_sentences(lengths: list[int], window: int) -> None:
    words = [str(number) for number in range(sum(lengths))]
    lines = "".join(pieces(GivenSegmenter(lengths, window), words)).splitlines()
    assert [len(line.split()) for line in lines] == lengths
    assert " ".join(lines).split() == words


def test_argmax_decides_at_a_half_and_keeps_the_rule_of_the_limit(exported: Path) -> None:
    usual = choose(exported, None, 2, 60)
    argmax = choose(exported, None, 2, 60, argmax=True)
    assert usual._decision == Classifier(exported, 2).decision
    assert argmax._decision == replace(usual._decision, threshold=0.5)


def test_a_model_or_a_language_is_needed(exported: Path) -> None:
    for model, punctuation in ((None, None), (exported, "de")):
        with pytest.raises(InputError, match="expected either --model FOLDER or --punctuation LANGUAGE"):
            choose(model, punctuation, 1, 60)


def test_the_command_takes_a_folder_or_the_name_of_a_model(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words"
    words.write_text("a b c d", encoding="utf-8")
    assert main(["segmenter", "apply", str(words), "--model", str(exported)]) == 0
    assert capsys.readouterr().out.split() == ["a", "b", "c", "d"]
    assert main(["segmenter", "apply", str(words), "--model", str(words)]) == 2
    assert capsys.readouterr().err.startswith(f"error: no model '{words}': it is no folder, and the models in this")
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


def test_a_source_that_breaks_off_gives_out_what_was_read() -> None:
    def broken() -> Iterator[str]:
        yield from ("a", "b", "c")
        raise InputError("standard input: cannot be read any further")

    found = pieces(GivenSegmenter([2, 1], window=1), broken())
    assert "".join(islice(found, 4)) == "a b\nc\n"
    with pytest.raises(InputError, match="any further"):
        next(found)


@pytest.mark.parametrize("name", ["talk.txt", "", "d", "german"])
def test_a_file_is_no_language(name: str) -> None:
    with pytest.raises(InputError, match=r"expected the code of a language, such as de"):
        choose(None, name, 1, 60)
    assert choose(None, "pt-BR", 1, 60).window == 1


def test_argmax_is_for_a_network() -> None:
    with pytest.raises(InputError, match="--argmax is for the network of --model"):
        choose(None, "de", 1, 60, argmax=True)


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
