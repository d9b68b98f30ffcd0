"""A model folder as a model of CTranslate2: the same weights and the same shape, for `turia bench` to run beside ours.

CTranslate2 has no partial bidirectional encoder: all source positions see each other, as with `encoding="full"`. It
quantises the weights itself when the model is loaded. Its tokens are the numbers of our pieces, written in digits, so
that nothing depends on how either side spells a piece; the symbol that opens the target is given as a prefix.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ctranslate2 import specs
from ctranslate2.specs import common_spec, transformer_spec

from turia.export.stored import read_weights
from turia.export.tensors import Weights
from turia.runtime.folder import load_folder
from turia.runtime.positions import ROTARY_BASE, sinusoids
from turia.runtime.shape import Shape
from turia.runtime.weights import decoder_layers, encoder_layers
from turia.text.symbols import BRK_ID, DOC_ID, UNK_ID

_ACTIVATIONS = {"relu": "RELU", "swish": "SWISH", "gelu": "GELU"}


def save_as_ctranslate2(model: Path, folder: Path) -> None:
    """Writes the existing, empty `folder` from the model folder `model`."""
    shape = load_folder(model).config.shape
    spec = _spec(shape)
    _fill(spec, shape, read_weights(model))
    for register, pieces in (
        (spec.register_source_vocabulary, shape.source_vocabulary),
        (spec.register_target_vocabulary, shape.target_vocabulary),
    ):
        register([str(number) for number in range(pieces)])
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = str(UNK_ID), str(DOC_ID), str(BRK_ID)
    spec.config.decoder_start_token = None
    spec.validate()
    spec.save(str(folder))


def _spec(shape: Shape) -> specs.TransformerSpec:
    activation = common_spec.Activation[_ACTIVATIONS[shape.activation]]
    # Dimensions 0: all of a head turn. The halves of a head turn against each other, as in ours.
    rotary = {"rotary_dim": 0, "rotary_interleave": False, "rotary_base": ROTARY_BASE}
    options = {"pre_norm": shape.pre_norm, "activation": activation, **(rotary if shape.positions == "rotary" else {})}
    return specs.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(shape.encoder_layers, shape.heads, **options),
        transformer_spec.TransformerDecoderSpec(shape.decoder_layers, shape.heads, **options),
    )


def _fill(spec: specs.TransformerSpec, shape: Shape, weights: Weights) -> None:
    encoder, decoder = spec.encoder, spec.decoder
    source = "target_embedding" if shape.joint else "source_embedding"
    encoder.embeddings[0].weight = weights[f"{source}.weight"]
    decoder.embeddings.weight = decoder.projection.weight = weights["target_embedding.weight"]
    if shape.logits_bias:
        decoder.projection.bias = weights["logits_bias"]
    for side in (encoder, decoder):
        side.scale_embeddings = shape.scaled_embedding
        if shape.positions != "rotary":
            marian = shape.positions == "marian"
            table = sinusoids(shape.max_positions, shape.width, marian, shape.first_position)
            side.position_encodings.encodings = table
    if shape.pre_norm:
        _norm(encoder.layer_norm, weights, "encoder_norm")
        _norm(decoder.layer_norm, weights, "decoder_norm")
    layers = zip([*encoder_layers(shape), *decoder_layers(shape)], [*encoder.layer, *decoder.layer], strict=True)
    for name, layer in layers:
        own = f"{name}.attention"
        _linear(layer.self_attention.linear[0], weights, f"{own}.query", f"{own}.key_value")
        _linear(layer.self_attention.linear[1], weights, f"{own}.output")
        _norm(layer.self_attention.layer_norm, weights, f"{name}.around_attention.norm")
        if hasattr(layer, "attention"):
            for number, part in enumerate(("query", "key_value", "output")):
                _linear(layer.attention.linear[number], weights, f"{name}.cross_attention.{part}")
            _norm(layer.attention.layer_norm, weights, f"{name}.around_cross_attention.norm")
        _linear(layer.ffn.linear_0, weights, f"{name}.feed_forward.expand")
        _linear(layer.ffn.linear_1, weights, f"{name}.feed_forward.contract")
        _norm(layer.ffn.layer_norm, weights, f"{name}.around_feed_forward.norm")


def _linear(spec: common_spec.LinearSpec, weights: Weights, *names: str) -> None:
    spec.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([weights[f"{name}.bias"] for name in names])


def _norm(spec: common_spec.LayerNormSpec, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]
