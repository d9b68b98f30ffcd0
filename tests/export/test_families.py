"""What a config says is what is computed; what cannot be computed is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from turia.errors import ModelError
from turia.export.families import FIRST, NEVER, OurWeights, read_checkpoint
from turia.text.symbols import BRK_ID, CONT_ID, DOC_ID, END_ID, SEP_ID, UNK_ID

CONFIG = {
    "model_type": "m2m_100", "d_model": 8, "vocab_size": 30, "max_position_embeddings": 90, "encoder_layers": 1,
    "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "eos_token_id": 2, "pad_token_id": 1, "decoder_start_token_id": 2,
    "activation_function": "relu", "scale_embedding": True,
}  # fmt: skip


def write(folder: Path, **changes: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
    return folder


def test_families_are_values_of_one_shape(tmp_path: Path) -> None:
    m2m = read_checkpoint(write(tmp_path)).shape(joint=True, source_opening=True)
    assert (m2m.pre_norm, m2m.positions, m2m.first_position, m2m.activation) == (True, "sinusoidal", 2, "relu")
    assert (m2m.target_vocabulary, m2m.encoder, m2m.scaled_embedding) == (FIRST + 30, "bidirectional", True)
    changed = write(tmp_path, model_type="marian", activation_function="swish", scale_embedding=False)
    marian = read_checkpoint(changed, "opus").shape(joint=False, source_opening=False)
    assert (marian.pre_norm, marian.positions, marian.first_position) == (False, "marian", 0)
    assert (marian.activation, marian.scaled_embedding, marian.source_opening) == ("swish", False, False)
    assert read_checkpoint(changed, "opus").name == "opus"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "t5"}, "architecture 't5', expected one of marian, m2m_100"),
        ({"model_type": None}, "architecture None"),
        ({"model_type": ["marian"]}, r"architecture \['marian'\]"),
        ({"model_type": "marian", "normalize_before": True}, "normalize_before is True, expected False"),
        (
            {"model_type": "marian", "share_encoder_decoder_embeddings": False},
            "share_encoder_decoder_embeddings is False",
        ),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False, expected True"),
        ({"decoder_ffn_dim": 32}, "encoder_ffn_dim and decoder_ffn_dim differ"),
        ({"activation_function": "tanh"}, "activation_function is 'tanh'"),
        ({"activation_function": {}}, "activation_function is {}, expected relu"),
        ({"scale_embedding": 1.5}, "scale_embedding is 1.5, expected true or false"),
        ({"d_model": "8"}, "d_model is '8', expected a whole number above 0"),
        ({"eos_token_id": 30}, "eos_token_id is 30, expected the id of a piece"),
    ],
)
def test_what_cannot_be_computed_is_named(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"config\.json: {said}"):
        read_checkpoint(write(tmp_path, **changes))


@pytest.mark.parametrize("adapted", [False, True])
def test_symbols_are_copies_and_nothing_is_predicted_twice(adapted: bool, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(write(tmp_path))
    shape = checkpoint.shape(joint=True, source_opening=True)
    chance = np.random.default_rng(1)
    theirs = {"model.shared.weight": chance.standard_normal((30, 8), dtype=np.float32)}
    for side in ("encoder", "decoder"):
        attentions = ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",)
        sizes = {"fc1": (16, 8), "fc2": (8, 16)} | {
            f"{attention}.{part}_proj": (8, 8) for attention in attentions for part in ("q", "k", "v", "out")
        }
        names = {f"layers.0.{name}": size for name, size in sizes.items()} | {"layer_norm": (8,)}
        names |= {f"layers.0.{name}_layer_norm": (8,) for name in (*attentions, "final")}
        for name, size in names.items():
            theirs[f"model.{side}.{name}.weight"] = chance.standard_normal(size, dtype=np.float32)
            theirs[f"model.{side}.{name}.bias"] = chance.standard_normal(size[0], dtype=np.float32)
    save_file(theirs, tmp_path / "model.safetensors")
    ours = OurWeights(checkpoint, shape, unknown=3, adapted=adapted)
    embedding, bias = ours["target_embedding.weight"], ours["logits_bias"]
    shared = theirs["model.shared.weight"]
    np.testing.assert_array_equal(embedding[FIRST:], shared)
    for symbols, piece in (((DOC_ID, CONT_ID, SEP_ID, BRK_ID, END_ID), 2), ((UNK_ID,), 3)):
        for symbol in symbols:
            np.testing.assert_array_equal(embedding[symbol], shared[piece])
    assert [bool(bias[symbol] > NEVER) for symbol in (SEP_ID, BRK_ID, END_ID)] == [adapted, True, adapted]
    assert set(np.flatnonzero(bias[FIRST:] == NEVER)) == {1, 2, 3}
    np.testing.assert_array_equal(
        ours["decoder_layers.0.cross_attention.key_value.bias"],
        np.concatenate([theirs[f"model.decoder.layers.0.encoder_attn.{part}_proj.bias"] for part in "kv"]),
    )
    np.testing.assert_array_equal(ours["encoder_norm.weight"], theirs["model.encoder.layer_norm.weight"])
    with pytest.raises(KeyError):
        ours["nothing"]
    del theirs["model.decoder.layers.0.fc2.bias"]
    save_file(theirs, tmp_path / "model.safetensors")
    with pytest.raises(
        ModelError, match=r"the weights have no decoder\.layers\.0\.fc2\.bias; expected those of a m2m_100"
    ):
        OurWeights(checkpoint, shape, unknown=3)
    theirs["model.decoder.layers.0.fc2.bias"] = np.zeros(9, dtype=np.float32)
    save_file(theirs, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"contract\.bias is \(9,\), expected \(8,\) as config\.json says"):
        OurWeights(checkpoint, shape, unknown=3)
