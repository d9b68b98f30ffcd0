"""`turia policy train` as a user's shell sees it: what is wrong is said in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turia.cli import main
from turia.commands import extras


def recipe(folder: Path, model: Path) -> Path:
    (folder / "corpus.tsv").write_text("1\tguten morgen welt\tGood morning, world.\n" * 5, encoding="utf-8")
    path = folder / "policy.toml"
    path.write_text(
        f'model = "{model}"\nexport = "export"\nrun = "run"\n[[train]]\npath = "corpus.tsv"\n', encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("relative", [False, True])
def test_a_corpus_that_is_too_small_to_align_is_one_line(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], relative: bool
) -> None:
    # A model's folder may be relative to that of the recipe.
    model = Path(os.path.relpath(model_folder, tmp_path)) if relative else model_folder
    assert main(["policy", "train", str(recipe(tmp_path, model))]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "error: train has 5 sentence pairs, too few to align their words; expected 1000 or more"
    assert not (tmp_path / "export").exists()


def test_without_the_aligner_the_extra_is_named(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda package: None if package == "systran_align" else package)
    assert main(["policy", "train", str(recipe(tmp_path, model_folder))]) == 2
    expected = f"error: word alignment needs the align extra of Turia; install it: {extras.install_command('align')}\n"
    assert capsys.readouterr().err == expected


def test_a_model_without_the_head_is_one_line(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--model", str(model_folder), "--policy", "act:lag_cost=0.3"]) == 2
    assert "needs the head act-0.3, the model has none; train it with `turia policy train`" in capsys.readouterr().err


def test_policy_alone_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy"]) == 2
    assert "train" in capsys.readouterr().err
