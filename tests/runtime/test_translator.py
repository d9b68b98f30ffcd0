"""Loading a model: what is refused, and which of a folder's files count."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from turia.commands.models import describe
from turia.errors import ConfigError, ModelError
from turia.runtime.translator import Translator


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def unlist(folder: Path, begin: str) -> None:
    """Takes the files whose names begin so out of SHA256SUMS, and leaves them where they are."""
    sums = folder / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.split()[1].startswith(begin)]
    assert len(kept) < len(lines)
    sums.write_text("".join(kept), encoding="utf-8")


def test_a_segmenter_that_the_sums_do_not_name_is_none(folder: Path) -> None:
    assert describe("model", folder).windows == (0, 2)
    unlist(folder, "segmenter")
    assert describe("model", folder).windows == ()
    with pytest.raises(ModelError, match="the model has no segmenter; ask for punctuation"):
        Translator.load(folder).stream()


@pytest.mark.parametrize("name", ["segmenter-w2.onnx", "segmenter.weights", "segmenter-vocabulary.txt"])
def test_a_segmenter_is_used_only_if_the_sums_name_all_of_it(folder: Path, name: str) -> None:
    unlist(folder, name)
    with pytest.raises(ModelError, match=f"{name}: not in SHA256SUMS, so it cannot be checked"):
        Translator.load(folder).stream(window=2)


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ({"threads": 1.5}, r"threads is 1\.5, expected a whole number from 1"),
        ({"threads": 0}, "threads is 0, expected a whole number from 1"),
        ({"threads": -1}, "threads is -1, expected a whole number from 1"),
        ({"providers": ()}, r"providers is \(\), expected the names of one or more"),
        (
            {"providers": "CPUExecutionProvider"},
            "providers is 'CPUExecutionProvider', expected the names of one or more",
        ),
    ],
)
def test_arguments_out_of_range_are_named(model_folder: Path, argument: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Translator.load(model_folder, **argument)


def test_what_is_no_fault_of_the_graphs_is_not_called_one(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("turia.runtime.session.feeds", fail)
    with pytest.raises(MemoryError):
        Translator.load(model_folder)
