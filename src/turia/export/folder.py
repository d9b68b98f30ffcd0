"""Writes a model folder from weights: the graphs, what goes with them, and their sums. docs/model-folder.md shows it.

The folder appears when it is complete. A folder that is already there is replaced if it is a model folder; it is left
alone if it is anything else, or has other files in it. Files that people edit, above all the card, are kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from turia.errors import InputError, ModelError, ResourceError
from turia.export.graph import save_graphs
from turia.export.tensors import Tensors, Weights, graph_tensors
from turia.runtime.folder import (
    ATTRIBUTES_FILE,
    CARD_FILE,
    CONFIG_FILE,
    NEW_CARD_FILE,
    SUMS_FILE,
    UNSUMMED,
    ModelConfig,
    load_folder,
    read_sums,
    write_config,
    write_sums,
)
from turia.runtime.weights import weight_shapes
from turia.system.files import replacing


def write_folder(
    folder: Path, config: ModelConfig, weights: Weights, card: str, subwords: Path, segmenter: Sequence[Path] = ()
) -> None:
    """`subwords` is the folder that has the model's subword files, `segmenter` the files of an exported segmenter."""
    found = {name: values.shape for name, values in weights.items()}
    assert found == weight_shapes(config.shape), "weights of another shape"
    write_tensors(folder, config, graph_tensors(config.shape, weights, config.precision), card, subwords, segmenter)


def write_tensors(
    folder: Path, config: ModelConfig, tensors: Tensors, card: str, subwords: Path, parts: Sequence[Path] = ()
) -> None:
    """The same from the tensors of graphs: those of another model folder, say. `parts` are the files of an exported
    segmenter and of heads."""
    _check_free(folder)
    try:
        with replacing(folder) as new:
            new.mkdir()
            for source in [*_subword_files(config, subwords), *parts]:
                shutil.copyfile(source, new / source.name)
            save_graphs(config.shape, tensors, config.precision, new)
            write_config(config, new)
            _write_card(card, new, folder)
            write_sums(new)
            # Vocabularies of another model are found here, before an older export is given up.
            load_folder(new)
    except OSError as error:
        raise ResourceError(f"{folder}: could not be written: {error.strerror}") from error


def _write_card(card: str, new: Path, folder: Path) -> None:
    """The card; beside the one that is in `folder` already, if that says anything else."""
    finished, attributes = folder / CARD_FILE, folder / ATTRIBUTES_FILE
    kept = finished.is_file() and finished.read_bytes() != card.encode()
    (new / (NEW_CARD_FILE if kept else CARD_FILE)).write_text(card, encoding="utf-8", newline="\n")
    if kept:
        shutil.copyfile(finished, new / CARD_FILE)
    if attributes.is_file():
        shutil.copyfile(attributes, new / ATTRIBUTES_FILE)


def _check_free(folder: Path) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not all((folder / name).exists() for name in _OWN_FILES):
        raise InputError(f"{folder} is there and is no model folder; choose another place")
    known = {*read_sums(folder), *UNSUMMED}
    if others := sorted(file.name for file in folder.iterdir() if file.name not in known):
        raise InputError(f"{folder / others[0]} is no part of the model that is there; move it or choose another place")


_OWN_FILES = (CONFIG_FILE, SUMS_FILE)


def _subword_files(config: ModelConfig, folder: Path) -> list[Path]:
    files = [folder / name for name in dict.fromkeys(config.subword_files())]
    for file in files:
        if not file.is_file():
            raise ModelError(f"{file}: missing; expected the subwords that the model was trained with")
    return files
