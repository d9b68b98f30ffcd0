"""Weights to start from; in another vocabulary, a row of an embedding goes by the spelling of its piece.

So a direction starts from the opposite one. Its layers know what translating is, and most of its pieces were pieces
there, some in another case: German is heard in lower case and written with capitals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from turia.corpus.shards import load_subwords
from turia.errors import ConfigError, ModelError
from turia.export.stored import read_weights
from turia.model.checkpoint import WEIGHTS, fill_model, load_shape, load_tensors
from turia.model.transformer import Transformer
from turia.runtime.folder import CONFIG_FILE, load_folder
from turia.runtime.shape import Shape
from turia.text.subwords import Subwords
from turia.training.run import RunFolder

TABLES = ("source_embedding.weight", "target_embedding.weight", "logits_bias")
"""What has a row for each piece."""


def matches(mine: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Rows of mine and of theirs that belong together: pieces spelt alike, or else alike but for case."""
    exact = {piece: row for row, piece in enumerate(theirs)}
    # Of several spellings the first: ids go by frequency.
    folded = {piece.lower(): row for row, piece in reversed(list(enumerate(theirs)))}
    for row, piece in enumerate(mine):
        found = exact.get(piece, folded.get(piece.lower()))
        if found is not None:
            yield row, found


def starting_weights(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """The weights to start from: a run's best checkpoint, or a model folder's; and where they were found."""
    if (folder / CONFIG_FILE).exists():
        return folder, {name: torch.from_numpy(values.copy()) for name, values in read_weights(folder).items()}
    run = RunFolder(folder)
    checkpoint = run.best() or run.newest()
    return checkpoint, load_tensors(checkpoint / WEIGHTS)


def starting_shape(folder: Path, checkpoint: Path) -> Shape:
    """The shape of the weights that `starting_weights` has found at `checkpoint`."""
    return load_folder(folder).config.shape if checkpoint == folder else load_shape(checkpoint)


def check_meaning(model: Transformer, folder: Path, checkpoint: Path) -> None:
    """Refuses weights that would fit in size and mean something else. `checkpoint` is where those of `folder` were."""
    theirs = starting_shape(folder, checkpoint)
    for key in ("positions", "heads"):
        found, wanted = getattr(theirs, key), getattr(model.shape, key)
        if found != wanted:
            raise ConfigError(
                f"training.start_from: {folder} has model.{key} = {found!r}, the recipe has {wanted!r}; its weights "
                f"mean nothing with that: set model.{key} = {found!r}, or leave start_from out"
            )


def take_over(
    model: Transformer, weights: dict[str, Tensor], subwords: tuple[Subwords, Subwords], folder: Path
) -> float:
    """Fills `model`, which has `subwords`, from the weights of `folder`, which has its own; gives the share of target
    pieces found there. Rows of the others stay as they are."""
    tensors, fresh = dict(weights), model.state_dict()
    sides = dict(zip(("source", "target"), zip(subwords, load_subwords(folder), strict=True), strict=True))
    share = 0.0
    for name in TABLES:
        if name not in fresh or name not in tensors:
            continue
        if tensors[name].shape[1:] != fresh[name].shape[1:]:
            found, wanted = tuple(tensors[name].shape), tuple(fresh[name].shape)
            raise ModelError(f"{folder}: tensor {name} is {found}, expected {wanted} but for the rows")
        mine, theirs = sides["source" if name.startswith("source") else "target"]
        pairs = list(matches(mine.pieces, theirs.pieces))
        tensors[name] = _with_rows(fresh[name], tensors[name], pairs)
        share = len(pairs) / len(mine.pieces)
    fill_model(model, tensors, folder)
    return share


def _with_rows(own: Tensor, other: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    rows, found = torch.tensor(pairs).T
    result = own.detach().clone()
    result[rows] = other[found].to(result)
    return result
