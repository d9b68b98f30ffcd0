"""The heads of a model folder are refused, with one line that says why, if they are not the model's own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from turia.errors import ModelError
from turia.runtime.folder import SUMS_FILE, WEIGHTS_FILE, load_folder, read_sums, write_sums
from turia.runtime.heads import HEADS_FILE, HeadList, PerceptronHead, head_list, load_heads
from turia.runtime.translator import Translator
from turia.training.policy.heads import Perceptron, stored_head


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(model_folder, tmp_path / "model"))
    torch.manual_seed(1)
    stored_head(Perceptron(130, 4)).save(copy / "head-act-0.2.bin")
    HeadList(read_sums(copy)[WEIGHTS_FILE], {"act-0.2": 130}).save(copy)
    write_sums(copy)
    return copy


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        Translator.load(folder)
    return str(caught.value)


def change(folder: Path, **keys: object) -> None:
    path = folder / HEADS_FILE
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | keys), encoding="utf-8")
    write_sums(folder)


def test_heads_are_loaded_with_their_model(folder: Path) -> None:
    heads = load_heads(load_folder(folder))
    assert heads.keys() == {"act-0.2"}
    assert 0 < heads["act-0.2"]((np.ones(128, dtype=np.float32),), 1.0, 1.0) < 1
    Translator.load(folder).stream(policy="act", punctuation=True)


def test_a_folder_without_heads_has_none(model_folder: Path) -> None:
    assert load_heads(load_folder(model_folder)) == {}
    assert head_list(load_folder(model_folder)).files() == []


def test_heads_of_another_model_are_refused(folder: Path) -> None:
    change(folder, weights="0" * 64)
    assert "heads.json: heads of another model: they were trained for other weights; train them" in refusal(folder)


def test_another_version_is_refused_and_further_keys_are_passed_over(folder: Path) -> None:
    change(folder, colour="blue")
    assert head_list(load_folder(folder)).values == {"act-0.2": 130}
    change(folder, version=2)
    assert "heads.json: version 2, this Turia reads 3; train the heads again" in refusal(folder)


def test_values_that_are_no_numbers_are_refused(folder: Path) -> None:
    change(folder, values={"act-0.2": "many"})
    assert "heads.json: values of act-0.2 is 'many', expected a whole number from 1" in refusal(folder)


def test_a_head_of_another_size_is_refused(folder: Path) -> None:
    change(folder, values={"act-0.2": 65})
    assert "heads.json: values of act-0.2 is 65, expected 130 with this model" in refusal(folder)


def test_a_head_that_is_not_listed_or_altered_is_refused(folder: Path) -> None:
    sums = folder / SUMS_FILE
    kept = [line for line in sums.read_text(encoding="utf-8").splitlines() if "head-act" not in line]
    (folder / "head-act-0.2.bin").write_bytes(b"something else")
    assert "head-act-0.2.bin: altered" in refusal(folder)
    sums.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert "head-act-0.2.bin: not in SHA256SUMS, so it cannot be checked" in refusal(folder)


@pytest.mark.parametrize("content", [b"", b"123", np.zeros(1, dtype=np.float32).tobytes()])
def test_a_file_that_is_no_head_is_refused(folder: Path, content: bytes) -> None:
    (folder / "head-act-0.2.bin").write_bytes(content)
    write_sums(folder)
    assert f"head-act-0.2.bin: {len(content)} bytes are no head of 130 values" in refusal(folder)


def test_a_head_of_values_that_are_no_numbers_is_refused(folder: Path) -> None:
    path = folder / "head-act-0.2.bin"
    numbers = np.fromfile(path, dtype=np.float32)
    numbers[7] = np.nan
    numbers.tofile(path)
    write_sums(folder)
    assert "head-act-0.2.bin: has values that are no numbers" in refusal(folder)


def test_sums_out_of_all_bounds_are_certain() -> None:
    # One inner value, twice what the head is shown.
    head = PerceptronHead(np.array([[2.0, 0.0, 1.0]], dtype=np.float32), 0.0)
    assert [head((), value) for value in (-1e30, 0.0, 1e30)] == [0.5, 0.5, 1.0]
    against = PerceptronHead(np.array([[2.0, 0.0, -1.0]], dtype=np.float32), 0.0)
    assert against((), 1e30) == pytest.approx(0.0, abs=1e-200)
