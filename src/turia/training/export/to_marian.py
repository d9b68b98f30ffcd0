"""A run of Marian's shape as a checkpoint in Hugging Face's layout, which transformers and `turia models add` read.

The way back of `turia import-marian`. The model must have what Marian has: `model.conventions` and post-norm, one
vocabulary for both sides (`subwords.joint`) with the space first (`subwords.space_first`), a bidirectional encoder, and
no history. Of our symbols it keeps those of a sentence in the middle of a document: CONT begins the target, BRK ends
both sides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from turia.config import OFFLINE_K, Recipe
from turia.corpus.shards import load_subwords
from turia.errors import ModelError
from turia.export.families import FIRST, linear_names
from turia.export.plain_weights import SAFETENSORS
from turia.export.vocabulary import SOURCE_SPM, TARGET_SPM, TOKENIZER_CONFIG, VOCABULARY
from turia.model.checkpoint import load_model
from turia.runtime.folder import CONFIG_FILE, check_empty
from turia.runtime.positions import Floats
from turia.runtime.shape import MARIAN, Shape
from turia.system.files import replacing
from turia.text.symbols import BRK_ID, CONT_ID, UNK, UNK_ID
from turia.training.run import RunFolder

END, PAD = "</s>", "<pad>"


def save_as_marian(run: Path, folder: Path) -> None:
    """Writes the checkpoint `folder` from the run's best weights, or the newest if none are marked."""
    check_empty(folder)
    trained = RunFolder(run)
    recipe = trained.recipe()
    model = load_model(trained.best() or trained.newest())
    _check(run, model.shape, recipe)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    subwords, _ = load_subwords(run)
    # Marian's order: the end, the unknown, the pieces, and last the padding, with which its decoder starts.
    pieces = [END, UNK, *subwords.pieces[FIRST:], PAD]
    order = [BRK_ID, UNK_ID, *range(FIRST, len(subwords)), CONT_ID]
    bias = weights["logits_bias"][order][None]
    bias[0, -1] = -np.inf if np.isinf(bias[0, -1]) else min(bias[0, -1], -1e4)  # the padding is never predicted
    tensors = {"model.shared.weight": weights["target_embedding.weight"][order], "final_logits_bias": bias}
    for name, values in weights.items():
        if name not in ("target_embedding.weight", "logits_bias"):
            names = linear_names(name)
            tensors |= dict(zip((f"model.{theirs}" for theirs in names), np.split(values, len(names)), strict=True))
    with replacing(folder) as new:
        new.mkdir()
        (new / SAFETENSORS).write_bytes(save(_whole(tensors), {"format": "pt"}))
        for name in (SOURCE_SPM, TARGET_SPM):
            subwords.save(new / name)
        written: dict[str, dict[str, Any]] = {
            VOCABULARY: {piece: number for number, piece in enumerate(pieces)},
            CONFIG_FILE: _config(model.shape, len(pieces)),
            TOKENIZER_CONFIG: {"source_lang": recipe.source_language, "target_lang": recipe.target_language},
        }
        for name, data in written.items():
            (new / name).write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")


def _check(run: Path, shape: Shape, recipe: Recipe) -> None:
    expected = {**MARIAN, "pre_norm": False, "joint": True, "encoder": "bidirectional", "first_position": 0}
    for key, value in expected.items():
        if getattr(shape, key) != value:
            raise ModelError(f"{run}: {key} is {getattr(shape, key)!r}, but a Marian model has {value!r}")
    if not recipe.subwords.space_first:
        raise ModelError(f"{run}: subwords.space_first is false, but a Marian model has the space first")
    history = recipe.windows.history > 0 and recipe.training.windows_from < 1
    if recipe.training.k_range != (OFFLINE_K, OFFLINE_K) or history:
        raise ModelError(f"{run}: trained for prefixes or with history, which a Marian model knows nothing of")


def _whole(tensors: dict[str, Floats]) -> dict[str, Floats]:
    return {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in tensors.items()}


def _config(shape: Shape, pieces: int) -> dict[str, Any]:
    """config.json, as transformers writes it."""
    sides = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in (("ffn_dim", shape.feed_forward), ("attention_heads", shape.heads))
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": shape.width,
        **sides,
        "encoder_layers": shape.encoder_layers,
        "decoder_layers": shape.decoder_layers,
        "vocab_size": pieces,
        "decoder_vocab_size": pieces,
        "max_position_embeddings": shape.max_positions,
        "activation_function": "swish",
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "eos_token_id": 0,
        "pad_token_id": pieces - 1,
        "decoder_start_token_id": pieces - 1,
        "forced_eos_token_id": 0,
    }
