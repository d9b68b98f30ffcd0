"""What is added is whole and tested, works by its name in every command, and what cannot be added leaves nothing."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.hub.conftest import NLLB, OPUS
from turia.cli import main
from turia.export.offline import POLICY
from turia.hub.install import segmenters
from turia.policy.holdn import HoldN
from turia.runtime.translator import Translator

pytestmark = pytest.mark.slow


def test_a_folder_is_added_and_its_name_works_everywhere(
    checkpoints: dict[str, Path], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(checkpoints[OPUS], tmp_path / "opus-mt-de-en")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    assert main(["models", "add", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "opus-mt-de-en\n"
    assert "licence: apache-2.0" in printed.err
    assert main(["models", "--json"]) == 0
    [*shipped, added] = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in shipped] == ["de-en", "en-de"]
    assert (added["name"], added["licence"], added["policy"]) == ("opus-mt-de-en", "apache-2.0", POLICY)
    assert (added["source_language"], added["target_language"], added["precision"]) == ("de", "en", "int8")
    assert added["windows"] == [0, 1, 2, 3, 4], "the segmenter of the packaged model, as it reads German too"
    words = tmp_path / "words.txt"
    words.write_text("guten tag meine damen und herren", encoding="utf-8")
    trace = tmp_path / "trace.jsonl"
    assert main(["translate", str(words), "--model", "opus-mt-de-en", "--trace", str(trace)]) == 0
    assert capsys.readouterr().out.split()
    header = json.loads(trace.read_text(encoding="utf-8").splitlines()[0])
    assert (header["policy"], header["history"]) == (POLICY, 0)
    assert main(["models", "add", str(folder)]) == 2
    assert "a model 'opus-mt-de-en' is there; `turia models remove opus-mt-de-en` first" in capsys.readouterr().err
    assert main(["models", "add", str(folder), "--name", "mine", "--beam", "2", "--policy", "hold-n:n=1"]) == 0
    mine = Translator.load("mine")
    assert (mine.model.beam, mine.model.policy) == (2, HoldN(1))
    assert mine.stream(k=3).header()["policy"] == "wait-k:k=3,rounding=floor"


def test_a_model_is_added_without_torch(checkpoints: dict[str, Path], home: Path) -> None:
    """As the hub extra installs Turia."""
    program = (
        "import sys; sys.modules |= dict.fromkeys(['torch', 'safetensors', 'transformers'])\n"
        "from turia.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "models", "add", str(checkpoints[OPUS])]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "opus-mt-de-en\n"), result.stderr
    assert (home / "opus-mt-de-en" / "config.json").is_file()


def test_packaged_segmenters_are_known_by_their_language() -> None:
    assert sorted(segmenters()) == ["de", "en"]
    assert all("segmenter.json" in {file.name for file in files} for files in segmenters().values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "../out"], "name '../out': expected letters, digits"),
        (["--name", "de-en"], "name 'de-en': a model of this name comes with Turia"),
        (["--revision", "main"], "is a folder, which has no revisions"),
        (["--gamma", "0"], "gamma is 0.0, expected a number from 0.1 to 10"),
        (["--policy", "guess"], "no policy 'guess'"),
    ],
)
def test_what_cannot_be_asked_for(
    arguments: list[str], said: str, checkpoints: dict[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "add", str(checkpoints[OPUS]), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not home.exists() or not list(home.iterdir())


def test_many_languages_need_to_be_said(
    checkpoints: dict[str, Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "add", str(checkpoints[NLLB])]) == 2
    assert "translates between many languages; say which: --source de --target en" in capsys.readouterr().err


def test_a_pickle_that_is_not_plain_tensors_leaves_nothing(
    checkpoints: dict[str, Path], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(checkpoints[OPUS], tmp_path / "opus-mt-de-en")
    (folder / "model.safetensors").unlink()
    torch.save({"code": eval}, folder / "pytorch_model.bin")
    assert main(["models", "add", str(folder)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("not plain weights: it holds __builtin__.eval")
    assert not list(home.iterdir())


def test_a_full_disk_leaves_nothing(
    checkpoints: dict[str, Path], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("turia.export.folder.save_graphs", full)
    assert main(["models", "add", str(checkpoints[OPUS])]) == 1
    said = f"error: {home / 'opus-mt-de-en'}: could not be written: No space left on device; nothing was installed"
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert not list(home.iterdir())


def test_a_model_that_writes_nothing_is_not_installed(
    checkpoints: dict[str, Path], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("turia.hub.install._written", lambda stream, sentence: [])
    assert main(["models", "add", str(checkpoints[OPUS])]) == 2
    assert "writes nothing for 'Guten Morgen" in capsys.readouterr().err
    assert not list(home.iterdir())
