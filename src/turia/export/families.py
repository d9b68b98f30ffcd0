"""The families of models that can be converted, each as values of our one Transformer (runtime/shape.py).

| `model_type` | models | norm | positions | what else |
|---|---|---|---|---|
| `marian` | OPUS-MT | post | Marian's sinusoids | a bias on the logits; no symbol before the source |
| `m2m_100` | M2M-100, NLLB-200 | pre | sinusoids from place 2 | the language before the source and the target |

What a family leaves open (activation, scale of the embeddings, sizes) is in the config.json of each model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from turia.errors import ModelError
from turia.export.plain_weights import open_weights
from turia.export.torch_files import PlainTensor
from turia.runtime.positions import Floats
from turia.runtime.shape import Activation, Positions, Shape
from turia.runtime.weights import weight_shapes
from turia.system.files import read_json
from turia.text.symbols import BRK_ID, CONT_ID, CONTROL, DOC_ID, END_ID, SEP_ID, UNK_ID

FIRST = 2 + len(CONTROL)
"""Our id of a model's piece 0: its pieces come after our reserved symbols."""
NEVER = -1e4
"""The bias of a piece that must not be predicted."""
CONFIG = "config.json"
_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
_SIZES = (
    *("d_model", "vocab_size", "max_position_embeddings", "encoder_layers", "decoder_layers"),
    *("encoder_ffn_dim", "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads"),
)
_PIECES = ("eos_token_id", "pad_token_id", "decoder_start_token_id")


@dataclass(frozen=True)
class Family:
    """What all models of a family have in common."""

    pre_norm: bool
    positions: Positions
    places_before: bool
    """Whether the place of a first piece comes after that of the padding, as in fairseq."""
    expected: Mapping[str, Any]
    """What a config says, if it says it."""


FAMILIES = {
    "marian": Family(
        pre_norm=False,
        positions="marian",
        places_before=False,
        expected={
            "normalize_before": False,
            "normalize_embedding": False,
            "add_final_layer_norm": False,
            "tie_word_embeddings": True,
            "share_encoder_decoder_embeddings": True,
        },
    ),
    "m2m_100": Family(
        pre_norm=True,
        positions="sinusoidal",
        places_before=True,
        expected={"tie_word_embeddings": True},
    ),
}


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of a family that we know, its config checked."""

    folder: Path
    name: str
    """As people call it, and as errors do: not every folder has its model's name."""
    config: dict[str, Any]
    family: Family

    @property
    def model_type(self) -> str:
        return str(self.config["model_type"])

    def special(self, key: str) -> int:
        return int(self.config[key])

    def shape(self, joint: bool, source_opening: bool) -> Shape:
        """The values of our Transformer. `joint` if one embedding serves both sides."""
        config, vocabulary = self.config, FIRST + self.config["vocab_size"]
        return Shape(
            width=config["d_model"],
            feed_forward=config["encoder_ffn_dim"],
            heads=config["encoder_attention_heads"],
            encoder_layers=config["encoder_layers"],
            decoder_layers=config["decoder_layers"],
            source_vocabulary=vocabulary,
            target_vocabulary=vocabulary,
            joint=joint,
            encoder="bidirectional",
            anchor="sentence",
            pre_norm=self.family.pre_norm,
            max_positions=config["max_position_embeddings"],
            positions=self.family.positions,
            first_position=self.special("pad_token_id") + 1 if self.family.places_before else 0,
            activation=_ACTIVATIONS[config.get("activation_function", "relu")],
            scaled_embedding=config.get("scale_embedding", True),
            logits_bias=True,
            source_opening=source_opening,
        )


def read_checkpoint(folder: Path, name: str | None = None) -> Checkpoint:
    """The config of the checkpoint in `folder`, if it is one that we can compute."""
    path = folder / CONFIG
    config = read_json(path, "a checkpoint of Hugging Face", ModelError)
    named = config.get("model_type")
    if not isinstance(named, str) or named not in FAMILIES:
        raise ModelError(f"{path}: architecture {named!r}, expected one of {', '.join(FAMILIES)}")
    family = FAMILIES[named]
    for key, expected in family.expected.items():
        if config.get(key, expected) != expected:
            raise ModelError(f"{path}: {key} is {config[key]!r}, expected {expected!r}")
    for key in (*_SIZES, *_PIECES):
        value, least = config.get(key), 0 if key in _PIECES else 1
        if type(value) is not int or value < least or (key in _PIECES and value >= config["vocab_size"]):
            expected = "the id of a piece" if key in _PIECES else "a whole number above 0"
            raise ModelError(f"{path}: {key} is {value!r}, expected {expected}")
    for key in ("ffn_dim", "attention_heads"):
        if config[f"encoder_{key}"] != config[f"decoder_{key}"]:
            raise ModelError(f"{path}: encoder_{key} and decoder_{key} differ; expected one size")
    activation = config.get("activation_function", "relu")
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise ModelError(f"{path}: activation_function is {activation!r}, expected {', '.join(_ACTIVATIONS)}")
    if type(config.get("scale_embedding", True)) is not bool:
        raise ModelError(f"{path}: scale_embedding is {config['scale_embedding']!r}, expected true or false")
    return Checkpoint(folder, name or folder.resolve().name, config, family)


class OurWeights(Mapping[str, Floats]):
    """The weights of a checkpoint by our names, each computed when it is asked for: renamed, and with our symbols.

    The symbols that close a sentence (SEP, BRK, END) are copies of the model's end symbol; DOC and CONT, with which the
    target begins, of the symbol that its decoder starts with. All three closing symbols are predicted if the model is
    to be `adapted`, as training tells them apart; else one alone, so that the end is as likely as it was.
    """

    def __init__(self, checkpoint: Checkpoint, shape: Shape, unknown: int, adapted: bool = False) -> None:
        self._checkpoint, self._unknown, self._adapted = checkpoint, unknown, adapted
        self._shapes = weight_shapes(shape)
        self._theirs = {name.removeprefix("model."): tensor for name, tensor in open_weights(checkpoint.folder).items()}
        self._check()

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, name: str) -> Floats:
        if name not in self._shapes:
            raise KeyError(name)
        if name.endswith("_embedding.weight"):
            return self._embedding()
        if name == "logits_bias":
            return self._bias()
        parts = [tensor.read() for tensor in self._parts(name)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _check(self) -> None:
        """That all weights are there, in the sizes of the config."""
        expected: tuple[int, ...]
        for name, size in self._shapes.items():
            if name.endswith("_embedding.weight"):
                found, expected = self._shared().shape, (size[0] - FIRST, size[1])
            elif name == "logits_bias":
                found, expected = self._their_bias_shape(size[0] - FIRST), (size[0] - FIRST,)
            else:
                shapes = [tensor.shape for tensor in self._parts(name)]
                found, expected = (sum(shape[0] for shape in shapes), *shapes[0][1:]), size
            if found != expected:
                raise ModelError(f"{self._checkpoint.folder}: {name} is {found}, expected {expected} as {CONFIG} says")

    def _their(self, name: str) -> PlainTensor:
        if name not in self._theirs:
            raise ModelError(
                f"{self._checkpoint.folder}: the weights have no {name}; expected those of a "
                f"{self._checkpoint.model_type} model"
            )
        return self._theirs[name]

    def _parts(self, name: str) -> list[PlainTensor]:
        """The tensors that ours is made of, one after the other."""
        return [self._their(theirs) for theirs in linear_names(name)]

    def _shared(self) -> PlainTensor:
        """The embedding, by whichever of its names it was kept."""
        names = ("shared.weight", "decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "lm_head.weight")
        return self._their(next((name for name in names if name in self._theirs), names[0]))

    def _embedding(self) -> Floats:
        """[V, D] -> [7 + V, D]"""
        embedding, special = self._shared().read(), self._checkpoint.special
        symbols = np.zeros((FIRST, embedding.shape[1]), dtype=np.float32)
        symbols[UNK_ID] = embedding[self._unknown]
        symbols[[DOC_ID, CONT_ID]] = embedding[special("decoder_start_token_id")]
        symbols[[SEP_ID, BRK_ID, END_ID]] = embedding[special("eos_token_id")]
        return np.concatenate([symbols, embedding])

    def _their_bias_shape(self, vocabulary: int) -> tuple[int, ...]:
        bias = self._theirs.get("final_logits_bias")
        return (vocabulary,) if bias is None else (int(np.prod(bias.shape)),)

    def _bias(self) -> Floats:
        """[V] -> [7 + V]: what is there twice is predicted under our id alone."""
        bias = self._theirs.get("final_logits_bias")
        vocabulary = self._shared().shape[0]
        pieces = np.zeros(vocabulary, dtype=np.float32) if bias is None else bias.read().flatten().copy()
        special = self._checkpoint.special
        symbols = np.full(FIRST, NEVER, dtype=np.float32)
        symbols[UNK_ID] = pieces[self._unknown]
        symbols[[SEP_ID, BRK_ID, END_ID] if self._adapted else [BRK_ID]] = pieces[special("eos_token_id")]
        pieces[[special("eos_token_id"), special("pad_token_id"), self._unknown]] = NEVER
        return np.concatenate([symbols, pieces])


_PARTS = {"attention": "self_attn.", "cross_attention": "encoder_attn.", "feed_forward": ""}
_NORMS = {
    "around_attention": "self_attn_layer_norm",
    "around_cross_attention": "encoder_attn_layer_norm",
    "around_feed_forward": "final_layer_norm",
}
_LINEARS = {
    "query": ("q_proj",),
    "key_value": ("k_proj", "v_proj"),
    "output": ("out_proj",),
    "expand": ("fc1",),
    "contract": ("fc2",),
}


def linear_names(name: str) -> list[str]:
    """The names in transformers of the tensors that our weight `name` is made of, one after the other; of matrices,
    their biases and norms."""
    side, rest = name.split("_", 1)
    if rest.startswith("norm."):
        return [f"{side}.layer_norm.{rest.removeprefix('norm.')}"]
    _, layer, part, role, kind = name.split(".")
    theirs = f"{side}.layers.{layer}"
    if part in _NORMS:
        return [f"{theirs}.{_NORMS[part]}.{kind}"]
    return [f"{theirs}.{_PARTS[part]}{linear}.{kind}" for linear in _LINEARS[role]]
