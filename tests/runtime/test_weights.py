"""Names and sizes of weights: what a trained model has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.models import Norm, random_transformer, tiny_shape, weights_of
from turia.config import Conventions
from turia.runtime.folder import load_folder
from turia.runtime.shape import MARIAN
from turia.runtime.weights import (
    DECODER_LAYER,
    ENCODER_LAYER,
    decoder_layers,
    embeddings,
    encoder_layers,
    is_norm,
    weight_shapes,
)

SHIPPED = Path(__file__).parents[2] / "src/turia/models/de-en"


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("conventions", ["turia", "marian"])
def test_a_checkpoint_has_these_weights(norm: Norm, joint: bool, conventions: Conventions) -> None:
    shape = replace(tiny_shape(norm, joint), **(MARIAN if conventions == "marian" else {}))
    trained = {name: values.shape for name, values in weights_of(random_transformer(shape)).items()}
    assert weight_shapes(shape) == trained


def test_sub_layers_are_computed_in_the_order_of_the_table() -> None:
    """The order of modules in a layer is the one in which it makes them."""
    model = random_transformer(tiny_shape())
    for layer, expected in ((model.encoder_layers[0], ENCODER_LAYER), (model.decoder_layers[0], DECODER_LAYER)):
        found = [name for name, _ in layer.named_children() if not name.startswith("around_")]
        assert found == list(expected)


def test_names_of_layers_and_embeddings() -> None:
    shape = replace(tiny_shape(), encoder_layers=3, source_vocabulary=11, target_vocabulary=12)
    assert encoder_layers(shape) == ["encoder_layers.0", "encoder_layers.1", "encoder_layers.2"]
    assert decoder_layers(shape) == ["decoder_layers.0", "decoder_layers.1"]
    assert embeddings(shape) == {"target_embedding": 12}
    assert embeddings(replace(shape, joint=False)) == {"target_embedding": 12, "source_embedding": 11}


def test_one_number_of_each_kind() -> None:
    """Sizes of a shipped model, by hand: width 256, inner width 1,024."""
    shapes = weight_shapes(load_folder(SHIPPED).config.shape)
    assert shapes["encoder_layers.5.attention.key_value.weight"] == (512, 256)
    assert shapes["decoder_layers.2.cross_attention.output.bias"] == (256,)
    assert shapes["decoder_layers.0.feed_forward.expand.weight"] == (1024, 256)
    assert shapes["decoder_layers.0.feed_forward.contract.weight"] == (256, 1024)
    assert shapes["decoder_norm.weight"] == (256,)
    assert "encoder_layers.6.attention.query.weight" not in shapes


def test_norms_are_told_by_their_names() -> None:
    assert is_norm("encoder_norm.bias")
    assert is_norm("decoder_layers.0.around_attention.norm.weight")
    assert not is_norm("decoder_layers.0.attention.query.weight")
