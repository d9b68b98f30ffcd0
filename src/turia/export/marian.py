"""Marian models as Hugging Face keeps them (OPUS-MT), turned into a run: to stream, to adapt by multi-k fine-tuning.

Read: config.json, model.safetensors (or pytorch_model.bin, by torch's loader that takes tensors and no code),
source.spm, target.spm, vocab.json. Nothing is computed: weights are renamed, and pieces get new ids.

- Marian's piece i is our piece 7 + i, after the reserved symbols. Those that close a sentence (SEP, BRK, END) are
  copies of Marian's end symbol; DOC and CONT, with which the target begins, of the symbol that its decoder starts with.
  Marian's own special pieces stay where they are and are never predicted.
- Both sides have the shared vocabulary, each with the pieces of its own SentencePiece model in use. One embedding
  becomes two equal ones.
- What else differs is `conventions = "marian"` (turia.config) and post-norm. The encoder is bidirectional: at each READ
  the prefix is encoded again. There is no history until it is trained with some.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from sentencepiece import sentencepiece_model_pb2 as spm
from torch import Tensor

from turia.config import OFFLINE_K, ModelSettings, Recipe, Training, Windows
from turia.config import SubwordSettings as SubwordSettings
from turia.corpus.shards import save_subwords
from turia.engine.settings import Settings
from turia.errors import InputError, ModelError
from turia.model.checkpoint import load_json, load_tensors, save_checkpoint
from turia.model.transformer import Transformer
from turia.runtime.folder import AS_GIVEN, check_empty
from turia.runtime.shape import shape_of
from turia.schema import to_dict
from turia.system.files import write_file
from turia.text.subwords import Subwords
from turia.text.symbols import BRK_ID, CONT_ID, CONTROL, DOC_ID, END_ID, PAD, PAD_ID, SEP_ID, UNK, UNK_ID
from turia.training.run import RunFolder

FIRST = 2 + len(CONTROL)
"""Our id of Marian's piece 0."""
NEVER = -1e4
"""The bias of a piece that must not be predicted."""
_MODEL = spm.ModelProto  # type: ignore[attr-defined]  # protobuf makes it when it is imported
_PIECE = _MODEL.SentencePiece
_EXPECTED = {
    "model_type": "marian",
    "activation_function": "swish",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "tie_word_embeddings": True,
}
"""What a config says, if it says it."""
_SIZES = (
    *("d_model", "vocab_size", "max_position_embeddings", "encoder_layers", "decoder_layers"),
    *("encoder_ffn_dim", "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads"),
)
_PIECES = ("eos_token_id", "pad_token_id", "decoder_start_token_id")
"""What every config says."""


@dataclass(frozen=True)
class Marian:
    """A Marian checkpoint that has passed its checks."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]
    pieces: list[str]
    """By Marian's ids."""

    def special(self, key: str) -> int:
        return int(self.config[key])

    @property
    def unknown(self) -> int:
        return self.pieces.index(UNK)


def import_marian(
    folder: Path, run: Path, source_language: str | None = None, target_language: str | None = None, gamma: float = 1.0
) -> Path:
    """Writes the run folder `run` from the checkpoint in `folder`; without languages, as its tokenizer or name says."""
    check_empty(run)
    Settings(gamma=gamma)  # refuses one that no stream could have
    marian = read_marian(folder)
    source, target = languages(folder, source_language, target_language)
    subwords = [renumbered(folder / name, marian) for name in ("source.spm", "target.spm")]
    config = marian.config
    chosen = ModelSettings(
        width=config["d_model"],
        feed_forward=config["encoder_ffn_dim"],
        heads=config["encoder_attention_heads"],
        encoder_layers=config["encoder_layers"],
        decoder_layers=config["decoder_layers"],
        encoder="bidirectional",
        norm="post",
        conventions="marian",
        max_positions=config["max_position_embeddings"],
    )
    model = Transformer(shape_of(chosen, len(subwords[0]), len(subwords[1]), joint=False))
    weights = our_weights(marian)
    for name, tensor in model.state_dict().items():
        if name not in weights or weights[name].shape != tensor.shape:
            found = tuple(weights[name].shape) if name in weights else "missing"
            raise ModelError(f"{folder}: {name} is {found}, expected {tuple(tensor.shape)} as config.json says")
    model.load_state_dict(weights)
    written = RunFolder(run)
    recipe = Recipe(
        source,
        target,
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


# --- reading ----------------------------------------------------------------------------------------------------------


def read_marian(folder: Path) -> Marian:
    """The checkpoint, if it is one that we can compute."""
    config = load_json(folder / "config.json")
    for key, expected in _EXPECTED.items():
        if config.get(key, expected) != expected and (key, config[key]) != ("activation_function", "silu"):
            raise ModelError(f"{folder / 'config.json'}: {key} is {config[key]!r}, expected {expected!r}")
    for key in (*_SIZES, *_PIECES):
        value, least = config.get(key), 0 if key in _PIECES else 1
        if type(value) is not int or value < least or (key in _PIECES and value >= config["vocab_size"]):
            expected = "the id of a piece" if key in _PIECES else "a whole number above 0"
            raise ModelError(f"{folder / 'config.json'}: {key} is {value!r}, expected {expected}")
    for key in ("ffn_dim", "attention_heads"):
        if config[f"encoder_{key}"] != config[f"decoder_{key}"]:
            raise ModelError(f"{folder / 'config.json'}: encoder_{key} and decoder_{key} differ; expected one size")
    if not config.get("share_encoder_decoder_embeddings", True):
        raise ModelError(f"{folder / 'config.json'}: two vocabularies; expected one that both sides share")
    vocabulary = load_json(folder / "vocab.json")
    if sorted(vocabulary.values()) != list(range(config["vocab_size"])):
        raise ModelError(f"{folder / 'vocab.json'}: expected the ids 0 to {config['vocab_size'] - 1}, each once")
    if UNK not in vocabulary:
        raise ModelError(f"{folder / 'vocab.json'}: no {UNK}")
    return Marian(config, _read_tensors(folder), sorted(vocabulary, key=lambda piece: int(vocabulary[piece])))


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    if (folder / "model.safetensors").exists():
        tensors = load_tensors(folder / "model.safetensors")
    elif (folder / "pytorch_model.bin").exists():
        try:
            tensors = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, UnpicklingError) as error:
            raise ModelError(f"{folder / 'pytorch_model.bin'}: not plain weights: {type(error).__name__}") from error
    else:
        raise ModelError(f"{folder}: neither model.safetensors nor pytorch_model.bin; expected a Marian checkpoint")
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ModelError(f"{folder / 'pytorch_model.bin'}: not plain weights: expected tensors by their names")
    return {name: tensor.float() for name, tensor in tensors.items()}


def languages(folder: Path, source: str | None, target: str | None) -> tuple[str, str]:
    """As asked for, as the tokenizer says, or as in opus-mt-de-en."""
    told: dict[str, Any] = {}
    if (folder / "tokenizer_config.json").exists():
        told = load_json(folder / "tokenizer_config.json")
    named = re.search(r"-([a-z]{2,3})-([a-z]{2,3})$", folder.resolve().name)
    source = source or told.get("source_lang") or (named and named[1])
    target = target or told.get("target_lang") or (named and named[2])
    if not source or not target:
        raise InputError(f"{folder}: its languages are not said; give --source-language and --target-language")
    return source, target


def renumbered(path: Path, marian: Marian) -> Subwords:
    """A SentencePiece model with Marian's pieces under our ids; those of the other side are there, and unused."""
    model = _MODEL()
    try:
        model.ParseFromString(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # protobuf's DecodeError, which its releases keep in different places
        raise ModelError(f"{path}: not a SentencePiece model ({error})") from error
    own = {piece.piece: piece for piece in model.pieces}
    del model.pieces[:]
    for symbol in (PAD, UNK, *CONTROL):
        model.pieces.add(piece=symbol, type=_PIECE.UNKNOWN if symbol == UNK else _PIECE.CONTROL)
    special = _special_pieces(marian)
    for number, piece in enumerate(marian.pieces):
        if number in special:
            model.pieces.add(piece=f"<marian {piece}>", type=_PIECE.CONTROL)
        elif piece in own and own[piece].type == _PIECE.NORMAL:
            model.pieces.add(piece=piece, score=own[piece].score)
        else:
            model.pieces.add(piece=piece, type=_PIECE.UNUSED)
    trainer = model.trainer_spec
    trainer.vocab_size, trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = len(model.pieces), 0, 1, -1, -1
    trainer.pad_piece, trainer.unk_piece = PAD, UNK
    return Subwords(model.SerializeToString(), str(path))


def _special_pieces(marian: Marian) -> set[int]:
    return {marian.special("eos_token_id"), marian.special("pad_token_id"), marian.unknown}


# --- weights ----------------------------------------------------------------------------------------------------------


def our_weights(marian: Marian) -> dict[str, Tensor]:
    """All weights by our names."""
    tensors = {name.removeprefix("model."): tensor for name, tensor in marian.tensors.items()}
    try:
        embedding = _with_symbols(tensors["shared.weight"], marian)
        weights = {"source_embedding.weight": embedding, "target_embedding.weight": embedding.clone()}
        weights["logits_bias"] = _bias(tensors["final_logits_bias"].flatten(), marian)
        for side in ("encoder", "decoder"):
            for layer in range(marian.config[f"{side}_layers"]):
                weights |= _layer(tensors, f"{side}.layers.{layer}", f"{side}_layers.{layer}", side == "decoder")
    except KeyError as error:
        raise ModelError(f"the weights have no {error}; expected those of a Marian model") from error
    return weights


def _layer(tensors: dict[str, Tensor], theirs: str, ours: str, crosses: bool) -> dict[str, Tensor]:
    attentions = {"self_attn": "attention"} | ({"encoder_attn": "cross_attention"} if crosses else {})
    weights = {}
    for kind in ("weight", "bias"):
        for their_name, our_name in attentions.items():
            query, key, value, output = (
                tensors[f"{theirs}.{their_name}.{part}_proj.{kind}"] for part in ("q", "k", "v", "out")
            )
            weights[f"{ours}.{our_name}.query.{kind}"] = query
            weights[f"{ours}.{our_name}.key_value.{kind}"] = torch.cat([key, value])
            weights[f"{ours}.{our_name}.output.{kind}"] = output
            weights[f"{ours}.around_{our_name}.norm.{kind}"] = tensors[f"{theirs}.{their_name}_layer_norm.{kind}"]
        weights[f"{ours}.feed_forward.expand.{kind}"] = tensors[f"{theirs}.fc1.{kind}"]
        weights[f"{ours}.feed_forward.contract.{kind}"] = tensors[f"{theirs}.fc2.{kind}"]
        weights[f"{ours}.around_feed_forward.norm.{kind}"] = tensors[f"{theirs}.final_layer_norm.{kind}"]
    return weights


def _with_symbols(embedding: Tensor, marian: Marian) -> Tensor:
    """[V, D] -> [7 + V, D]"""
    symbols = embedding.new_zeros(FIRST, embedding.shape[1])
    symbols[UNK_ID] = embedding[marian.unknown]
    symbols[[DOC_ID, CONT_ID]] = embedding[marian.special("decoder_start_token_id")]
    symbols[[SEP_ID, BRK_ID, END_ID]] = embedding[marian.special("eos_token_id")]
    return torch.cat([symbols, embedding])


def _bias(bias: Tensor, marian: Marian) -> Tensor:
    """[V] -> [7 + V]: what is there twice is predicted under our id alone."""
    symbols = bias.new_full((FIRST,), NEVER)
    symbols[UNK_ID] = bias[marian.unknown]
    symbols[[SEP_ID, BRK_ID, END_ID]] = bias[marian.special("eos_token_id")]
    pieces = bias.clone()
    pieces[sorted(_special_pieces(marian))] = NEVER
    assert symbols[PAD_ID] == NEVER
    return torch.cat([symbols, pieces])


# --- adapting ---------------------------------------------------------------------------------------------------------


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
