"""Writes a model folder from weights: the graphs, what goes with them, and their sums. docs/model-folder.md shows it.

A folder is written under another name, which nobody else has, and renamed when complete. One that is there already is
replaced if it is a model folder, and left alone if it is anything else or has anything else in it. What people write
there, the card above all, goes along.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from turia.errors import InputError, ModelError, ResourceError
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
from turia.runtime.graph import save_graphs
from turia.runtime.tensors import Weights, graph_tensors, weight_shapes


def write_folder(
    folder: Path, config: ModelConfig, weights: Weights, card: str, subwords: Path, segmenter: Sequence[Path] = ()
) -> None:
    """`subwords` is the folder that has the model's subword files, `segmenter` the files of an exported segmenter."""
    found = {name: values.shape for name, values in weights.items()}
    assert found == weight_shapes(config.shape), "weights of another shape"
    _check_free(folder)
    scratch: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        partial, old = scratch / "new", scratch / "old"
        partial.mkdir()
        for source in [*_subword_files(config, subwords), *segmenter]:
            shutil.copyfile(source, partial / source.name)
        save_graphs(config.shape, graph_tensors(config.shape, weights, config.precision), config.precision, partial)
        write_config(config, partial)
        _write_card(card, partial, folder)
        write_sums(partial)
        # Vocabularies of another model are found here, before an older export is given up.
        load_folder(partial)
        _put_in_place(partial, folder, old)
    except OSError as error:
        raise ResourceError(f"{folder}: could not be written: {error.strerror}") from error
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _write_card(card: str, partial: Path, folder: Path) -> None:
    """The card; beside the one that is in `folder` already, if that says anything else."""
    finished, attributes = folder / CARD_FILE, folder / ATTRIBUTES_FILE
    kept = finished.is_file() and finished.read_bytes() != card.encode()
    (partial / (NEW_CARD_FILE if kept else CARD_FILE)).write_text(card, encoding="utf-8", newline="\n")
    if kept:
        shutil.copyfile(finished, partial / CARD_FILE)
    if attributes.is_file():
        shutil.copyfile(attributes, partial / ATTRIBUTES_FILE)


def _put_in_place(partial: Path, folder: Path, old: Path) -> None:
    """The new folder where the old one was, or the old one again."""
    if folder.exists():
        folder.rename(old)
    try:
        partial.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


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
