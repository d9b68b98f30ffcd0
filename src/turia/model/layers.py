"""The parts of the Transformer. Caches are explicit: what a layer must remember goes in and comes out.

B batch, R rows (queries), C columns (keys), P columns kept from before, D width, H heads, E = D / H.
A bias is [B, 1, R, C], 0 where a row may look and -inf where it may not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from turia.runtime import positions
from turia.runtime.shape import Activation, Shape
from turia.runtime.weights import Size, attention_sizes, feed_forward_sizes

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu}


class KeysValues(NamedTuple):
    """Keys and values of one attention, each [B, H, C, E]."""

    keys: Tensor
    values: Tensor


class Rotation(NamedTuple):
    """Rotary positions of R rows (Su et al. 2021): cosines and sines of their angles, each [R, E], halves alike."""

    cosines: Tensor
    sines: Tensor


def position_table(shape: Shape) -> Tensor:
    """[max_positions, D] what is added to embeddings; or, of rotary positions, cosines and sines [2, max_positions, E]
    of their rotations."""
    if shape.positions != "rotary":
        marian = shape.positions == "marian"
        table = positions.sinusoids(shape.max_positions, shape.width, marian, shape.first_position)
        return torch.from_numpy(table)
    halves = [torch.from_numpy(table) for table in positions.rotations(shape.max_positions, shape.head_size)]
    return torch.stack([torch.cat([half, half], dim=1) for half in halves])


def rotate(x: Tensor, rotation: Rotation | None) -> Tensor:
    """x [B, H, R, E], each row turned by its position. Products of such rows depend on distances alone."""
    if rotation is None:
        return x
    left, right = x.chunk(2, dim=-1)
    return x * rotation.cosines + torch.cat([-right, left], dim=-1) * rotation.sines


def bias_from_limits(limits: Tensor, columns: int) -> Tensor:
    """[B, 1, R, columns] from limits [B, R]: row r sees the columns before its limit."""
    hidden = torch.arange(columns, device=limits.device) >= limits[:, None, :, None]
    return torch.zeros(hidden.shape, device=limits.device).masked_fill(hidden, float("-inf"))


def attend(queries: Tensor, memory: KeysValues, bias: Tensor, dropout: float) -> Tensor:
    """[B, H, R, E] what each query finds in `memory`."""
    keys, values = memory
    if not torch.is_autocast_enabled("cpu"):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias, dropout_p=dropout)
    # torch's attention for CPUs takes twice the time in bfloat16, other than its products of matrices.
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(
            queries.float(), keys.float(), values.float(), attn_mask=bias, dropout_p=dropout
        )


def linear(size: Size) -> nn.Linear:
    return nn.Linear(size.inputs, size.outputs)


class MultiHeadAttention(nn.Module):
    """Multi-head attention over given keys and values."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, dropout
        sizes = attention_sizes(shape)
        self.query = linear(sizes.query)
        self.key_value = linear(sizes.key_value)
        self.output = linear(sizes.output)

    def keys_values(self, x: Tensor, rotation: Rotation | None = None) -> KeysValues:
        """[B, C, D] -> keys and values, each [B, H, C, E]. Keys are kept as rotated: their place never changes."""
        keys, values = self.key_value(x).chunk(2, dim=-1)
        return KeysValues(rotate(self._split(keys), rotation), self._split(values))

    def forward(self, x: Tensor, memory: KeysValues, bias: Tensor, rotation: Rotation | None = None) -> Tensor:
        """[B, R, D] queries over `memory`."""
        dropout = self.dropout if self.training else 0.0
        queries = rotate(self._split(self.query(x)), rotation)
        attended = attend(queries, memory, bias, dropout)
        mixed: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return mixed

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[shape.activation]
        sizes = feed_forward_sizes(shape)
        self.expand = linear(sizes.expand)
        self.contract = linear(sizes.contract)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        contracted: Tensor = self.contract(self.dropout(self.activation(self.expand(x))))
        return contracted


class Residual(nn.Module):
    """Norm and dropout around a part: pre-norm x + f(norm(x)), or the paper's post-norm norm(x + f(x))."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = shape.pre_norm

    def before(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(x) if self.pre_norm else x
        return normed

    def after(self, x: Tensor, part: Tensor) -> Tensor:
        total = x + self.dropout(part)
        normed: Tensor = total if self.pre_norm else self.norm(total)
        return normed


def extend(past: KeysValues | None, new: KeysValues) -> KeysValues:
    """What was kept, and the new columns after it."""
    if past is None:
        return new
    return KeysValues(torch.cat([past.keys, new.keys], dim=2), torch.cat([past.values, new.values], dim=2))


class EncoderLayer(nn.Module):
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(shape, dropout)
        self.feed_forward = FeedForward(shape, dropout)
        self.around_attention = Residual(shape, dropout)
        self.around_feed_forward = Residual(shape, dropout)

    def forward(
        self, x: Tensor, bias: Tensor, rotation: Rotation | None, past: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """x [B, R, D], bias [B, 1, R, P + R] -> x, and keys and values of all P + R positions."""
        y = self.around_attention.before(x)
        kept = extend(past, self.attention.keys_values(y, rotation))
        x = self.around_attention.after(x, self.attention(y, kept, bias, rotation))
        x = self.around_feed_forward.after(x, self.feed_forward(self.around_feed_forward.before(x)))
        return x, kept


class DecoderLayer(nn.Module):
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(shape, dropout)
        self.cross_attention = MultiHeadAttention(shape, dropout)
        self.feed_forward = FeedForward(shape, dropout)
        self.around_attention = Residual(shape, dropout)
        self.around_cross_attention = Residual(shape, dropout)
        self.around_feed_forward = Residual(shape, dropout)

    def forward(
        self,
        x: Tensor,
        bias: Tensor,
        rotation: Rotation | None,
        memory: KeysValues,
        memory_bias: Tensor,
        past: KeysValues | None,
    ) -> tuple[Tensor, KeysValues]:
        """x [B, R, D], bias [B, 1, R, P + R], memory_bias [B, 1, R, S] -> x, and keys and values of all rows."""
        y = self.around_attention.before(x)
        kept = extend(past, self.attention.keys_values(y, rotation))
        x = self.around_attention.after(x, self.attention(y, kept, bias, rotation))
        y = self.around_cross_attention.before(x)
        x = self.around_cross_attention.after(x, self.cross_attention(y, memory, memory_bias))
        x = self.around_feed_forward.after(x, self.feed_forward(self.around_feed_forward.before(x)))
        return x, kept
