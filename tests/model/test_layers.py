"""The parts of the Transformer, each against what it says of itself."""

from __future__ import annotations

import math

import torch

from tests.model.test_transformer import VOCABULARY
from turia.config import ModelSettings
from turia.model.layers import (
    KeysValues,
    Residual,
    Rotation,
    attend,
    bias_from_limits,
    extend,
    position_table,
    rotate,
)
from turia.runtime.shape import shape_of


def random(*sizes: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def test_a_rotation_turns_the_halves_of_a_head_by_the_position() -> None:
    settings = ModelSettings(width=8, heads=1, positions="rotary", max_positions=200)
    table = Rotation(*position_table(shape_of(settings, VOCABULARY, VOCABULARY, True)))
    x = torch.randn(1, 1, 200, 8, generator=torch.Generator().manual_seed(1))
    turned = rotate(x, table)[0, 0].double()
    for position in (0, 1, 7, 199):
        for pair in range(4):
            angle = position * 1000 ** (-2 * pair / 8)
            left, right = x[0, 0, position, [pair, pair + 4]].double()
            expected = [
                left * math.cos(angle) - right * math.sin(angle),
                right * math.cos(angle) + left * math.sin(angle),
            ]
            torch.testing.assert_close(turned[position, [pair, pair + 4]], torch.stack(expected), atol=1e-5, rtol=0)


def test_without_a_rotation_rows_stay() -> None:
    x = random(1, 2, 3, 4)
    assert rotate(x, None) is x


def test_a_bias_hides_what_is_at_the_limit_or_after_it() -> None:
    bias = bias_from_limits(torch.tensor([[1, 3], [2, 9]]), columns=3)
    assert bias.shape == (2, 1, 2, 3)
    assert (bias == 0).int().tolist() == [[[[1, 0, 0], [1, 1, 1]]], [[[1, 1, 0], [1, 1, 1]]]]
    assert bias[0, 0, 0, 1] == -math.inf


def test_attention_is_a_weighted_mean_of_what_is_seen() -> None:
    queries, keys, values = random(1, 1, 2, 4), random(1, 1, 3, 4, seed=2), random(1, 1, 3, 4, seed=3)
    bias = bias_from_limits(torch.tensor([[1, 3]]), columns=3)
    found = attend(queries, KeysValues(keys, values), bias, dropout=0.0)
    torch.testing.assert_close(found[0, 0, 0], values[0, 0, 0])
    weights = (queries[0, 0, 1] @ keys[0, 0].T / 4**0.5).softmax(dim=-1)
    torch.testing.assert_close(found[0, 0, 1], weights @ values[0, 0])


def test_attention_is_float32_where_a_cpu_trains_in_bfloat16() -> None:
    queries, keys, values = random(1, 1, 2, 4), random(1, 1, 3, 4, seed=2), random(1, 1, 3, 4, seed=3)
    bias = bias_from_limits(torch.tensor([[2, 3]]), columns=3)
    exact = attend(queries, KeysValues(keys, values), bias, dropout=0.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend(queries, KeysValues(keys, values), bias, dropout=0.0)
        rounded = attend(queries.bfloat16(), KeysValues(keys.bfloat16(), values.bfloat16()), bias, dropout=0.0)
    torch.testing.assert_close(found, exact, atol=0, rtol=0)
    assert rounded.dtype == torch.float32


def test_new_columns_come_after_those_that_were_kept() -> None:
    old, new = (KeysValues(random(1, 2, n, 4), random(1, 2, n, 4, seed=2)) for n in (3, 2))
    both = extend(old, new)
    assert both.keys.shape == (1, 2, 5, 4)
    torch.testing.assert_close(both.values[:, :, :3], old.values)
    torch.testing.assert_close(both.values[:, :, 3:], new.values)
    assert extend(None, new) is new


def test_a_norm_is_before_the_part_or_after_the_sum() -> None:
    x, part = random(1, 3, 8), random(1, 3, 8, seed=2)
    pre, post = (
        Residual(shape_of(ModelSettings(width=8, heads=1, norm=norm), VOCABULARY, VOCABULARY, True), 0.0)
        for norm in ("pre", "post")
    )
    torch.testing.assert_close(pre.before(x), pre.norm(x))
    torch.testing.assert_close(pre.after(x, part), x + part)
    assert post.before(x) is x
    torch.testing.assert_close(post.after(x, part), post.norm(x + part))
