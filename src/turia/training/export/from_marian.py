"""Marian models as Hugging Face keeps them (OPUS-MT), turned into a run: to be adapted by multi-k fine-tuning.

`turia models add` converts such a model to be used as it is, and without torch (offline.py). A run differs in two ways:
all closing symbols are predicted, as training tells them apart, and it has a recipe for adapting it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from turia.config import OFFLINE_K, ModelSettings, Recipe, SubwordSettings, Training, Windows
from turia.corpus.shards import save_subwords
from turia.engine.settings import Settings
from turia.errors import ModelError
from turia.export.families import CONFIG, OurWeights, read_checkpoint
from turia.export.vocabulary import find_languages, read_vocabulary
from turia.model.checkpoint import save_checkpoint
from turia.model.transformer import Transformer
from turia.runtime.folder import AS_GIVEN, check_empty
from turia.runtime.shape import shape_of
from turia.schema import to_dict
from turia.system.files import write_file
from turia.training.run import RunFolder


def import_marian(
    folder: Path, run: Path, source_language: str | None = None, target_language: str | None = None, gamma: float = 1.0
) -> Path:
    """Writes the run folder `run` from the checkpoint in `folder`; without languages, as its tokenizer or name says."""
    check_empty(run)
    Settings(gamma=gamma)  # refuses one that no stream could have
    marian = read_checkpoint(folder)
    if marian.model_type != "marian":
        raise ModelError(f"{folder / CONFIG}: architecture {marian.model_type!r}, expected 'marian'")
    vocabulary = read_vocabulary(marian)
    languages = find_languages(vocabulary, source_language, target_language)
    if languages.source_piece is not None:
        raise ModelError(
            f"{folder}: translates to many languages, which cannot be adapted yet; `turia models add` installs it"
        )
    subwords = vocabulary.subwords()
    shape = marian.shape(joint=False, source_opening=False)
    chosen = ModelSettings(
        width=shape.width,
        feed_forward=shape.feed_forward,
        heads=shape.heads,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder="bidirectional",
        norm="post",
        conventions="marian",
        max_positions=shape.max_positions,
    )
    if shape != shape_of(chosen, len(subwords[0]), len(subwords[1]), joint=False):
        raise ModelError(
            f"{folder / CONFIG}: activation {shape.activation!r} cannot be adapted; `turia models add` installs it"
        )
    weights = OurWeights(marian, shape, vocabulary.unknown, adapted=True)
    model = Transformer(shape)
    model.load_state_dict({name: torch.from_numpy(np.array(weights[name])) for name in weights})
    written = RunFolder(run)
    recipe = Recipe(
        languages.source,
        languages.target,
        run=run.absolute(),
        model=chosen,
        subwords=SubwordSettings(joint=False),
        windows=Windows(history=0),
        training=Training(k_range=(OFFLINE_K, OFFLINE_K)),  # it knows no prefixes
    )
    run.mkdir(parents=True, exist_ok=True)
    save_subwords(run, *subwords)
    write_file(run / "data.json", json.dumps({"gamma": gamma, "normalisation": AS_GIVEN}))
    write_file(run / "adapt.toml", adapting(recipe))
    save_checkpoint(written.checkpoint(0), model)
    write_file(run / "recipe.json", json.dumps(to_dict(recipe), indent=1))
    return run


def adapting(recipe: Recipe) -> str:
    """A recipe for multi-k fine-tuning of the run; people add their corpora."""
    model = recipe.model
    return f"""\
# Multi-k fine-tuning of this run. Name corpora; then `turia prepare adapt.toml` and `turia train adapt.toml`.
source_language = "{recipe.source_language}"
target_language = "{recipe.target_language}"
run = "adapted"

[data]
folder = "prepared"
# [[data.train]]
# path = "corpus.tsv"
# columns = ["{recipe.source_language}", "{recipe.target_language}"]
# [[data.dev]]
# path = "dev.tsv"
# columns = ["{recipe.source_language}", "{recipe.target_language}"]

[subwords]
joint = false
reuse = "."                 # the pieces that the weights know

[windows]
history = 0                 # more: it learns to use history

[model]                     # what the weights are
width = {model.width}
feed_forward = {model.feed_forward}
heads = {model.heads}
encoder_layers = {model.encoder_layers}
decoder_layers = {model.decoder_layers}
encoder = "pbe"             # "bidirectional" would learn from encoder states that have seen the whole sentence
norm = "post"
conventions = "marian"
max_positions = {model.max_positions}

[training]
start_from = "."
schedule = "fixed"
learning_rate = 4.47e-5     # the paper's, for fine-tuning
steps = 20000
"""
