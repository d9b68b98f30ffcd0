"""Writing a model folder: whole or not at all, and never over somebody's other files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.models import config_of, save_subwords, tiny_shape
from turia.engine.backend import EncodeRequest
from turia.errors import InputError, ModelError, ResourceError
from turia.export.folder import write_folder
from turia.export.tensors import random_weights
from turia.runtime.folder import STREAMS, load_folder
from turia.runtime.graphs import Runtime

SHAPE = tiny_shape(joint=False)
WEIGHTS = random_weights(SHAPE)


@pytest.fixture
def subword_folder(tmp_path: Path) -> Path:
    save_subwords(SHAPE, tmp_path / "subwords")
    return tmp_path / "subwords"


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_everything_is_there(tmp_path: Path, subword_folder: Path) -> None:
    write_folder(tmp_path / "model", config_of(SHAPE), WEIGHTS, "card", subword_folder)
    graphs = {f"{side}{'' if n == 1 else f'-x{n}'}.onnx" for side in ("encoder", "decoder", "look") for n in STREAMS}
    texts = {"config.json", "README.md", "SHA256SUMS", "source.subwords.model", "target.subwords.model"}
    assert names(tmp_path / "model") == graphs | texts | {"weights.bin"}
    assert names(tmp_path) == {"model", "subwords"}


def test_graphs_share_their_weights_on_disk(tmp_path: Path, subword_folder: Path) -> None:
    write_folder(tmp_path / "model", config_of(SHAPE), WEIGHTS, "card", subword_folder)
    weights = sum(values.nbytes for values in WEIGHTS.values())
    stored = (tmp_path / "model" / "weights.bin").stat().st_size
    # Beside the weights: positions, and what rounds an offset up.
    assert weights < stored < weights + 4 * SHAPE.max_positions * SHAPE.width + 64 * 200
    graphs = sum(file.stat().st_size for file in (tmp_path / "model").glob("*.onnx"))
    assert graphs < 200_000


def test_an_export_is_replaced_by_the_next(tmp_path: Path, subword_folder: Path) -> None:
    folder = tmp_path / "model"
    (tmp_path / "segmenter.json").write_text("{}", encoding="utf-8")
    write_folder(folder, config_of(SHAPE), WEIGHTS, "card", subword_folder, [tmp_path / "segmenter.json"])
    assert "segmenter.json" in names(folder)
    write_folder(folder, config_of(SHAPE, "int8"), WEIGHTS, "card", subword_folder)
    assert load_folder(folder).config.precision == "int8"
    assert not {"segmenter.json", "README.new.md"} & names(folder)


def test_a_card_that_somebody_finished_stays(tmp_path: Path, subword_folder: Path) -> None:
    folder = tmp_path / "model"
    write_folder(folder, config_of(SHAPE), WEIGHTS, "a beginning", subword_folder)
    (folder / "README.md").write_text("finished", encoding="utf-8")
    (folder / ".gitattributes").write_text("*.bin -text", encoding="utf-8")
    for card in ("one", "two"):
        write_folder(folder, config_of(SHAPE, "int8"), WEIGHTS, card, subword_folder)
        assert (folder / "README.md").read_text(encoding="utf-8") == "finished"
        assert (folder / "README.new.md").read_text(encoding="utf-8") == card
    assert (folder / ".gitattributes").read_text(encoding="utf-8") == "*.bin -text"
    assert "README" not in (folder / "SHA256SUMS").read_text(encoding="utf-8")
    assert load_folder(folder).config.precision == "int8"


@pytest.mark.parametrize("name", ["notes.txt", "scores"])
def test_what_is_no_part_of_a_model_is_named_and_left_alone(tmp_path: Path, subword_folder: Path, name: str) -> None:
    folder = tmp_path / "model"
    write_folder(folder, config_of(SHAPE), WEIGHTS, "card", subword_folder)
    (folder / name).mkdir() if name == "scores" else (folder / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=f"model/{name} is no part of the model that is there; move it"):
        write_folder(folder, config_of(SHAPE, "int8"), WEIGHTS, "card", subword_folder)
    assert name in names(folder)
    assert load_folder(folder).config.precision == "float32"


def test_other_folders_are_left_alone(tmp_path: Path, subword_folder: Path) -> None:
    holidays = tmp_path / "holidays"
    holidays.mkdir()
    (holidays / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="holidays is there and is no model folder; choose another place"):
        write_folder(holidays, config_of(SHAPE), WEIGHTS, "card", subword_folder)
    assert names(holidays) == {"config.json"}


def test_neighbours_are_left_alone(tmp_path: Path, subword_folder: Path) -> None:
    for name in ("model.old", "model.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious.txt").write_text("mine", encoding="utf-8")
    for precision in ("float32", "int8"):
        write_folder(tmp_path / "model", config_of(SHAPE, precision), WEIGHTS, "card", subword_folder)
    assert names(tmp_path) == {"model", "model.old", "model.partial", "subwords"}
    assert names(tmp_path / "model.old") == names(tmp_path / "model.partial") == {"precious.txt"}


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, subword_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    write_folder(folder, config_of(SHAPE), WEIGHTS, "one", subword_folder)
    rename = Path.rename

    def refuse_the_new_one(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse_the_new_one)
    with pytest.raises(ResourceError, match="could not be written: Permission denied"):
        write_folder(folder, config_of(SHAPE, "int8"), WEIGHTS, "two", subword_folder)
    assert load_folder(folder).config.precision == "float32"
    assert names(tmp_path) == {"model", "subwords"}


def test_a_failed_export_leaves_the_last_one(tmp_path: Path, subword_folder: Path) -> None:
    folder = tmp_path / "model"
    write_folder(folder, config_of(SHAPE), WEIGHTS, "card", subword_folder)
    (subword_folder / "target.subwords.model").unlink()
    with pytest.raises(ModelError, match=r"target.subwords.model: missing; expected the subwords"):
        write_folder(folder, config_of(SHAPE, "int8"), WEIGHTS, "card", subword_folder)
    assert load_folder(folder).config.precision == "float32"
    assert names(tmp_path) == {"model", "subwords"}


def test_a_segmenter_goes_along(tmp_path: Path, subword_folder: Path) -> None:
    (tmp_path / "segmenter-w2.onnx").write_bytes(b"graph")
    write_folder(
        tmp_path / "model", config_of(SHAPE), WEIGHTS, "card", subword_folder, [tmp_path / "segmenter-w2.onnx"]
    )
    assert (tmp_path / "model" / "segmenter-w2.onnx").read_bytes() == b"graph"
    assert "segmenter-w2.onnx" in (tmp_path / "model" / "SHA256SUMS").read_text(encoding="utf-8")


def test_random_weights_run(tmp_path: Path, subword_folder: Path) -> None:
    write_folder(tmp_path / "model", config_of(SHAPE, "int8"), WEIGHTS, "card", subword_folder)
    runtime = Runtime(load_folder(tmp_path / "model"))
    [state] = runtime.encode([EncodeRequest(None, np.arange(9), np.full(9, 9))])
    assert state.length == 9
