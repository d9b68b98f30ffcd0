"""The model: caching is proven equal to recomputing, and what is hidden has no influence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.model.windows import lay_out_pair, pairs, sentence
from turia.config import Anchor, Encoder, ModelSettings, Positions, Recipe, Training
from turia.errors import ConfigError
from turia.model.transformer import Transformer
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.shape import shape_of
from turia.schema import load_toml
from turia.text.layout import Ints, Sentence, Window, target_rows

VOCABULARY = 40
POSITIONS = ["sinusoidal", "rotary"]


def tiny(norm: str = "pre", joint: bool = True, positions: Positions = "sinusoidal") -> Transformer:
    torch.manual_seed(3)
    config = ModelSettings(preset="tiny", norm=norm, positions=positions, max_positions=128)  # type: ignore[arg-type]
    return Transformer(shape_of(config, VOCABULARY, VOCABULARY, joint)).eval()


def row(values: Ints) -> Tensor:
    return torch.from_numpy(np.asarray(values) % VOCABULARY)[None]


def limits(values: Ints) -> Tensor:
    return torch.from_numpy(np.asarray(values))[None]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("encoder", ["unidirectional", "pbe"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_incremental_encoding_equals_one_pass(norm: str, encoder: Encoder, positions: Positions) -> None:
    model = tiny(norm, positions=positions)
    source, target = [sentence([2, 1, 3]), sentence([1, 1, 2, 1])], [sentence([1]), sentence([1])]
    window, _ = lay_out_pair(source, target)
    k = 2
    reach = encoder_reach(window, k, encoder, "sentence")
    whole = model.encode(row(window.ids), limits(reach)).states
    # A block ends wherever nothing before it looks further: there the stream can stop and wait.
    stops = [stop for stop in range(1, len(reach) + 1) if reach[:stop].max() <= stop]
    assert len(stops) > 4
    past, parts, begin = None, [], 0
    for stop in stops:
        encoded = model.encode(row(window.ids[begin:stop]), limits(reach[begin:stop]), past)
        parts.append(encoded.states)
        past, begin = encoded.kept, stop
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("encoder", ["unidirectional", "pbe", "bidirectional"])
@pytest.mark.parametrize("anchor", ["sentence", "window"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_cached_decoding_equals_one_pass(encoder: Encoder, anchor: Anchor, positions: Positions) -> None:
    model = tiny(positions=positions)
    source, target = [sentence([2, 1, 3]), sentence([1, 1, 2, 1])], [sentence([1, 2]), sentence([1, 1, 1])]
    window, written = lay_out_pair(source, target)
    limit = cross_limit(window, target_rows(target), 2, 1.1, anchor)
    memory = model.memory(model.encode(row(window.ids), limits(encoder_reach(window, 2, encoder, anchor))).states)
    whole = model.decode(row(written.ids[:-1]), memory, limits(limit)).states
    past, parts = None, []
    for position in range(len(limit)):
        decoded = model.decode(
            row(written.ids[position : position + 1]), memory, limits(limit[position : position + 1]), past
        )
        parts.append(decoded.states)
        past = decoded.kept
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)


def states(model: Transformer, window: Window, ids: Ints, written: Window, limit: Ints, k: int) -> Tensor:
    reach = encoder_reach(window, k, "pbe", "sentence")
    found: Tensor = model(row(ids), limits(reach), row(written.ids[:-1]), limits(limit))[0]
    return found


@pytest.mark.parametrize("positions", POSITIONS)
@settings(max_examples=25, deadline=None)
@given(pair=pairs(), k=st.integers(1, 6), data=st.data())
@torch.no_grad()
def test_unread_words_have_no_influence(
    positions: Positions, pair: tuple[list[Sentence], list[Sentence]], k: int, data: st.DataObject
) -> None:
    model = tiny(positions=positions)
    window, written = lay_out_pair(*pair)
    limit = cross_limit(window, target_rows(pair[1]), k, 1.0, "sentence")
    position = data.draw(st.integers(1, len(window.ids) - 1))
    changed = window.ids.copy()
    changed[position] += 1
    before = states(model, window, window.ids, written, limit, k)
    after = states(model, window, changed, written, limit, k)
    difference = (before - after).abs().amax(dim=-1).numpy()
    blind = limit <= position
    # Causal rows: those before the first that sees the change must be untouched.
    first_seeing = int(np.argmax(~blind)) if (~blind).any() else len(limit)
    assert difference[:first_seeing].max(initial=0.0) < 1e-5
    assert not (~blind).any() or difference[first_seeing:].max() > 1e-7


@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_changes_nothing(positions: Positions) -> None:
    from turia.corpus.batches import pad

    model = tiny(positions=positions)
    short, long = (
        lay_out_pair([sentence([1, 2])], [sentence([1, 1])]),
        lay_out_pair([sentence([2] * 5)], [sentence([1] * 7)]),
    )
    alone, together = [], []
    reaches = [encoder_reach(window, 1, "pbe", "sentence") for window, _ in (short, long)]
    rows = [target_rows([sentence([1, 1])]), target_rows([sentence([1] * 7)])]
    crosses = [cross_limit(pair[0], r, 1, 1.0, "sentence") for pair, r in zip((short, long), rows, strict=True)]
    with torch.no_grad():
        for (window, written), reach, limit in zip((short, long), reaches, crosses, strict=True):
            alone.append(model(row(window.ids), limits(reach), row(written.ids[:-1]), limits(limit))[0])
        batch = model(
            torch.from_numpy(pad([short[0].ids, long[0].ids]) % VOCABULARY),
            torch.from_numpy(pad(reaches, value=1)),
            torch.from_numpy(pad([short[1].ids[:-1], long[1].ids[:-1]]) % VOCABULARY),
            torch.from_numpy(pad(crosses, value=1)),
        )
        together = [batch[i, : len(one)] for i, one in enumerate(alone)]
    for one, both in zip(alone, together, strict=True):
        torch.testing.assert_close(one, both, atol=1e-5, rtol=1e-5)
    assert not torch.isnan(batch).any()


def moved(model: Transformer, places: int) -> Transformer:
    """The same weights, every window so many positions further on."""
    other = Transformer(model.shape).eval()
    other.load_state_dict(model.state_dict())
    other.positions = model.positions[..., places:, :]
    return other


@pytest.mark.parametrize(("positions", "alike"), [("rotary", True), ("sinusoidal", False)])
@torch.no_grad()
def test_rotary_positions_show_distances_alone(positions: Positions, alike: bool) -> None:
    """Source and target each begin elsewhere, as they do behind a history."""
    model = tiny(positions=positions)
    source, target = [sentence([2, 1, 3]), sentence([1, 1, 2, 1])], [sentence([1, 2]), sentence([1, 1, 1])]
    window, written = lay_out_pair(source, target)
    reach, limit = (
        limits(encoder_reach(window, 2, "pbe", "sentence")),
        limits(cross_limit(window, target_rows(target), 2, 1.1, "sentence")),
    )
    expected = model(row(window.ids), reach, row(written.ids[:-1]), limit)
    encoded = moved(model, 31).encode(row(window.ids), reach).states
    found = moved(model, 50).decode(row(written.ids[:-1]), model.memory(encoded), limit).states
    assert ((found - expected).abs().max() < 1e-5) == alike


@torch.no_grad()
def test_rotary_positions_show_the_order_of_words() -> None:
    model = tiny(positions="rotary")
    window, _ = lay_out_pair([sentence([1, 1, 1, 1])], [sentence([1])])
    everything = limits(encoder_reach(window, 1, "bidirectional", "sentence"))
    swapped = window.ids.copy()
    swapped[[1, 2]] = swapped[[2, 1]]
    before, after = (model.encode(row(ids), everything).states[0] for ids in (window.ids, swapped))
    # Without positions the words that changed places would be what they were there, and all others as before.
    assert (before[1] - after[2]).abs().max() > 1e-3
    assert (before[3] - after[3]).abs().max() > 1e-3


def test_a_head_of_an_odd_size_cannot_be_turned() -> None:
    odd = ModelSettings(width=36, heads=4, positions="rotary")
    with pytest.raises(ConfigError, match=r"positions is 'rotary', .* a head has 9 dimensions .*, expected an even"):
        shape_of(odd, VOCABULARY, VOCABULARY, True)


def test_settings_that_positions_do_not_go_with() -> None:
    with pytest.raises(ConfigError, match="positions is 'rotary', but conventions is 'marian'"):
        ModelSettings(positions="rotary", conventions="marian")
    with pytest.raises(ConfigError, match=r"training\.shift is set, but model\.positions is 'rotary', .*: leave"):
        Recipe("de", "en", model=ModelSettings(positions="rotary"), training=Training(shift=5))
    Recipe("de", "en", model=ModelSettings(), training=Training(shift=5))


def test_separate_vocabularies_have_separate_embeddings() -> None:
    assert tiny(joint=False).source_embedding.weight.shape == (VOCABULARY, 64)
    names = dict(tiny().named_parameters())
    assert "source_embedding.weight" not in names
    assert (
        sum(p.numel() for p in tiny(joint=False).parameters()) - sum(p.numel() for p in names.values())
        == VOCABULARY * 64
    )


@pytest.mark.parametrize("name", ["base", "big"])
def test_the_paper_s_recipes_share_embeddings_within_the_decoder_alone(name: str) -> None:
    """Its command has --share-decoder-input-output-embed, not --share-all-embeddings."""
    recipe = load_toml(Recipe, Path(__file__).parents[2] / "recipes" / f"paper-{name}.toml")
    shape = shape_of(recipe.model, VOCABULARY, VOCABULARY, recipe.subwords.joint)
    with torch.device("meta"):
        of_pieces = [key for key, value in Transformer(shape).named_parameters() if VOCABULARY in value.shape]
    assert sorted(of_pieces) == ["source_embedding.weight", "target_embedding.weight"]


@pytest.mark.parametrize(("preset", "millions"), [("small", 9.9), ("base", 52.3), ("big", 192.7)])
def test_preset_sizes(preset: str, millions: float) -> None:
    vocabulary = 8000 if preset == "small" else 16000
    shape = shape_of(ModelSettings(preset=preset), vocabulary, vocabulary, True)  # type: ignore[arg-type]
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in Transformer(shape).parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.1)
