"""A model folder is refused, with one line that says why, if it is not what was exported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.engine.fakes import subwords
from tests.runtime.models import config_of, put_number, random_transformer, save_subwords, tiny_shape, weights_of
from turia import __version__
from turia.engine.backend import EncodeRequest
from turia.errors import ModelError
from turia.export.folder import write_folder
from turia.export.stored import read_weights
from turia.runtime.folder import load_folder, write_sums
from turia.runtime.graphs import Runtime
from turia.text.subwords import train_subwords

Change = Callable[[dict[str, Any]], object]
READS = f"this Turia ({__version__}) reads formats 2 and 3"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, shape = tmp_path_factory.mktemp("exported"), tiny_shape()
    save_subwords(shape, place / "subwords")
    weights = weights_of(random_transformer(shape))
    write_folder(place / "model", config_of(shape, "int8"), weights, "a card\n", place / "subwords")
    return place / "model"


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(exported, tmp_path / "model"))


def change_config(folder: Path, change: Change) -> None:
    """Changes config.json as somebody would who knows about sums."""
    path = folder / "config.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    write_sums(folder)


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        Runtime(load_folder(folder))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_what_was_exported_comes_back(exported: Path) -> None:
    loaded = load_folder(exported)
    assert loaded.config == config_of(tiny_shape(), "int8")
    assert loaded.source_subwords.pieces == subwords().pieces
    assert loaded.source_subwords is loaded.target_subwords
    data = json.loads((exported / "config.json").read_text(encoding="utf-8"))
    assert data["format"] == 3, "release 0.1 reads format 2 alone, and refuses every other number in one line"
    assert (exported / "README.md").read_text(encoding="utf-8") == "a card\n"


def test_keys_of_later_releases_are_passed_over(folder: Path) -> None:
    change_config(folder, lambda data: (data.update(colour="blue"), data["shape"].update(taste="sour")))
    assert load_folder(folder).config == config_of(tiny_shape(), "int8")


def test_folders_of_release_0_1_are_read(folder: Path) -> None:
    """Format 2 knew one kind of positions, and had no word for it."""
    expected = Runtime(load_folder(folder)).encode([EncodeRequest(None, np.arange(8, 13), np.arange(1, 6))])
    change_config(folder, lambda data: (data.update(format=2), data["shape"].pop("positions")))
    loaded = load_folder(folder)
    assert loaded.config == config_of(tiny_shape(), "int8")
    found = Runtime(loaded).encode([EncodeRequest(None, np.arange(8, 13), np.arange(1, 6))])
    np.testing.assert_array_equal(found[0].memory.tensors[0], expected[0].memory.tensors[0])


def test_rotary_positions_come_back(tmp_path: Path) -> None:
    shape = tiny_shape(positions="rotary")
    save_subwords(shape, tmp_path / "subwords")
    model = random_transformer(shape)
    write_folder(tmp_path / "model", config_of(shape, "float32"), weights_of(model), "card", tmp_path / "subwords")
    assert load_folder(tmp_path / "model").config.shape == shape
    found = read_weights(tmp_path / "model")
    assert found.keys() == model.state_dict().keys()
    for name, values in weights_of(model).items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, err_msg=name)
    # A consistent lie about their number is found as that of a sinusoidal model is.
    change_config(tmp_path / "model", lambda data: data["shape"].update(max_positions=4096))
    assert refusal(tmp_path / "model").startswith(f"{tmp_path / 'model'}: the graphs do not fit config.json: ")


def test_people_may_finish_the_card(folder: Path) -> None:
    with (folder / "README.md").open("a", encoding="utf-8") as card:
        card.write("It knows no dialects.\n")
    assert load_folder(folder).config == config_of(tiny_shape(), "int8")


@pytest.mark.parametrize("name", ["weights.bin", "decoder-x4.onnx", "subwords.model", "config.json"])
def test_one_altered_byte_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    if name == "config.json":
        content[-1] = ord(" ")
    (folder / name).write_bytes(content)
    assert refusal(folder) == f"{folder / name}: altered: its SHA-256 sum is not the one in SHA256SUMS"


@pytest.mark.parametrize("name", ["weights.bin", "encoder.onnx", "subwords.model"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(folder) == f"{folder / name}: missing, although SHA256SUMS names it; copy the whole folder"
    write_sums(folder)
    assert refusal(folder).startswith(f"{folder}: {name} is not in SHA256SUMS")


def test_no_folder_no_sums(folder: Path) -> None:
    assert "no such file; expected a model folder" in refusal(folder / "nowhere")
    (folder / "SHA256SUMS").unlink()
    assert refusal(folder) == f"{folder / 'SHA256SUMS'}: no such file; without sums the model cannot be checked"


@pytest.mark.parametrize(
    "line", ["nonsense", *(f"{'0' * 64}  {name}" for name in ("../weights.bin", "/tmp/weights.bin", "a\0b"))], ids=repr
)
def test_sums_name_files_of_the_folder(folder: Path, line: str) -> None:
    with (folder / "SHA256SUMS").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    assert "expected a SHA-256 sum, two spaces and the name of a file of this folder" in refusal(folder)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data.update(format=1), f"format 1, {READS}; install the release that made the model, or export"),
        (lambda data: data.update(format=4), f"format 4, {READS}; install the release that made the model, or export"),
        (lambda data: data.pop("format"), f"format None, {READS}; install the release"),
        (lambda data: data.pop("gamma"), "missing key 'gamma'"),
        (lambda data: data.update(gamma="fast"), "gamma is 'fast', expected a number"),
        (lambda data: data.update(length_penalty=-1), "length_penalty is -1, expected"),
        (lambda data: data.update(shape=3), "shape is 3, expected a table"),
        (lambda data: data["shape"].update(heads=0), "shape.heads is 0, expected a whole number from 1"),
        (
            lambda data: data["shape"].update(heads=5),
            "shape.width is 64, expected an even number of 4 or more that the 5 heads",
        ),
        (lambda data: data["shape"].update(encoder="octopus"), "shape.encoder is 'octopus', expected one of"),
        (
            lambda data: data["shape"].update(positions="round"),
            "shape.positions is 'round', expected one of 'sinusoidal'",
        ),
        (
            lambda data: data["shape"].update(positions="rotary", width=4, heads=4),
            "a head has 1 dimensions (shape.width / shape.heads), expected an even number",
        ),
        (lambda data: data.update(normalisation=9), "trained on text of normalisation 9, this Turia has 1"),
    ],
)
def test_a_config_that_makes_no_sense(folder: Path, change: Change, complaint: str) -> None:
    change_config(folder, change)
    message = refusal(folder)
    assert message.startswith(f"{folder / 'config.json'}: ")
    assert complaint in message


def test_not_json(folder: Path) -> None:
    (folder / "config.json").write_text("{", encoding="utf-8")
    assert refusal(folder).startswith(f"{folder / 'config.json'}: not JSON: ")
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    assert refusal(folder) == f"{folder / 'config.json'}: expected a JSON object"


def test_subwords_of_another_model(folder: Path) -> None:
    other = train_subwords(dict.fromkeys(("abba", "cada", "bab"), 9), vocabulary=300)
    other.save(folder / "subwords.model")
    write_sums(folder)
    sizes = f"{len(other)} pieces, but the model has {len(subwords())}"
    assert refusal(folder) == f"{folder / 'subwords.model'}: {sizes}; they are of two models"


@pytest.mark.parametrize(
    "change",
    [{"encoder_layers": 3}, {"decoder_layers": 1}, {"heads": 8}, {"width": 128}, {"max_positions": 4096}],
    ids=lambda change: str(change),
)
def test_graphs_of_another_shape(folder: Path, change: dict[str, int]) -> None:
    change_config(folder, lambda data: data["shape"].update(change))
    assert refusal(folder).startswith(f"{folder}: the graphs do not fit config.json: ")


def test_graphs_of_another_vocabulary(folder: Path) -> None:
    """A consistent lie: subwords, config and sums agree, the graphs have another size."""
    other = train_subwords(dict.fromkeys(("abba", "cada", "bab"), 9), vocabulary=300)
    other.save(folder / "subwords.model")
    sizes = {"source_vocabulary": len(other), "target_vocabulary": len(other)}
    change_config(folder, lambda data: data["shape"].update(sizes))
    assert refusal(folder) == f"{folder}: the graphs have {len(subwords())} target pieces, config.json has {len(other)}"


def test_a_graph_that_is_none(folder: Path) -> None:
    (folder / "encoder.onnx").write_bytes(b"not a graph")
    write_sums(folder)
    assert refusal(folder).startswith(f"{folder / 'encoder.onnx'}: cannot be loaded: ")


@pytest.mark.parametrize("name", ["memory.scale", "encoder_layers.0.attention.bias", "decoder_norm.weight"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers(folder: Path, name: str, value: float) -> None:
    """Sums that fit do not help: a greedy search would write words all the same."""
    put_number(folder, name, 0.25)
    Runtime(load_folder(folder))
    put_number(folder, name, value)
    complaint = f"{name} has values that are no numbers: the weights are damaged"
    assert refusal(folder) == f"{folder / 'weights.bin'}: {complaint}"


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 24), reason="ONNX Runtime checks this since 1.24"
)
def test_a_graph_cannot_read_outside_its_folder(folder: Path) -> None:
    shutil.copy(folder / "weights.bin", folder.parent / "outside.bin")
    graph = onnx.load_model(folder / "encoder.onnx", load_external_data=False)
    for tensor in graph.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../outside.bin"
    onnx.save_model(graph, folder / "encoder.onnx")
    write_sums(folder)
    assert refusal(folder).startswith(f"{folder / 'encoder.onnx'}: cannot be loaded: ")
