"""The streaming Transformer. Encoders differ by the limits they are given (masks.py), not by their code.

B batch, S source positions, T target rows, P positions kept from before, D width, V target vocabulary, H heads.

`encode` and `decode` each serve training (nothing kept), the building of a window, and one step of a stream: with what
an earlier call returned as `past`, they compute the new positions alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from turia.model.layers import (
    DecoderLayer,
    EncoderLayer,
    KeysValues,
    Rotation,
    bias_from_limits,
    position_table,
)
from turia.runtime.shape import Shape
from turia.text.symbols import PAD_ID


class EncoderOutput(NamedTuple):
    states: Tensor
    """[B, S, D] of the new positions."""
    kept: list[KeysValues]
    """Per layer, all positions so far."""


class DecoderOutput(NamedTuple):
    states: Tensor
    """[B, T, D] of the new rows; `logits` turns them into scores."""
    kept: list[KeysValues]


class Transformer(nn.Module):
    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.target_embedding = nn.Embedding(shape.target_vocabulary, width, padding_idx=PAD_ID)
        if not shape.joint:
            self.source_embedding = nn.Embedding(shape.source_vocabulary, width, padding_idx=PAD_ID)
        self.encoder_layers = nn.ModuleList(EncoderLayer(shape, dropout) for _ in range(shape.encoder_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(shape, dropout) for _ in range(shape.decoder_layers))
        final = nn.LayerNorm if shape.pre_norm else nn.Identity
        self.encoder_norm, self.decoder_norm = final(width), final(width)
        self.dropout = nn.Dropout(dropout)
        self.logits_bias = nn.Parameter(torch.zeros(shape.target_vocabulary)) if shape.logits_bias else None
        self.positions: Tensor
        self.register_buffer("positions", position_table(shape), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier for the matrices, as the paper's toolkit does; embeddings by 1 / sqrt(D)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.shape.width**-0.5)
                with torch.no_grad():
                    module.weight[PAD_ID].zero_()

    def encode(
        self, source: Tensor, reach: Tensor, past: list[KeysValues] | None = None, shift: Tensor | None = None
    ) -> EncoderOutput:
        """source, reach [B, R]: new positions, and how many of the P + R columns each sees; shift [B], see `_embed`."""
        offset = past[0].keys.shape[2] if past else 0
        embedding = self.target_embedding if self.shape.joint else self.source_embedding
        x = self._embed(embedding, source, offset, shift)
        bias = bias_from_limits(reach, offset + source.shape[1])
        rotation = self._rotation(offset, source.shape[1])
        kept = []
        for index, layer in enumerate(self.encoder_layers):
            x, columns = layer(x, bias, rotation, past[index] if past else None)
            kept.append(columns)
        return EncoderOutput(self.encoder_norm(x), kept)

    def memory(self, states: Tensor) -> list[KeysValues]:
        """What the decoder's cross-attention keeps of encoder states [B, S, D], per layer."""
        return [cast(DecoderLayer, layer).cross_attention.keys_values(states) for layer in self.decoder_layers]

    def decode(
        self,
        target: Tensor,
        memory: list[KeysValues],
        limit: Tensor,
        past: list[KeysValues] | None = None,
        shift: Tensor | None = None,
    ) -> DecoderOutput:
        """target, limit [B, T]: input pieces, and how many source columns each row sees; shift [B] as in `_embed`."""
        offset, rows = (past[0].keys.shape[2] if past else 0), target.shape[1]
        x = self._embed(self.target_embedding, target, offset, shift)
        causal = torch.arange(offset + 1, offset + rows + 1, device=target.device)[None]
        bias = bias_from_limits(causal, offset + rows)
        memory_bias = bias_from_limits(limit, memory[0].keys.shape[2])
        rotation = self._rotation(offset, rows)
        kept = []
        for index, layer in enumerate(self.decoder_layers):
            x, columns = layer(x, bias, rotation, memory[index], memory_bias, past[index] if past else None)
            kept.append(columns)
        return DecoderOutput(self.decoder_norm(x), kept)

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V], by the embedding that the decoder reads with."""
        return F.linear(states, self.target_embedding.weight, self.logits_bias)

    def forward(
        self, source: Tensor, reach: Tensor, target: Tensor, limit: Tensor, shift: Tensor | None = None
    ) -> Tensor:
        """Teacher-forced decoder states [B, T, D]: source, reach [B, S]; target, limit [B, T]; shift [B, 2]."""
        on_source, on_target = (None, None) if shift is None else shift.unbind(1)
        states = self.encode(source, reach, shift=on_source).states
        return self.decode(target, self.memory(states), limit, shift=on_target).states

    def _embed(self, embedding: nn.Module, ids: Tensor, offset: int, shift: Tensor | None) -> Tensor:
        """The pieces from position `offset` on; with `shift` [B], each row of the batch that much further on."""
        pieces = embedding(ids) * (math.sqrt(self.shape.width) if self.shape.scaled_embedding else 1.0)
        if self.shape.positions != "rotary":
            positions = self.positions[offset : offset + ids.shape[1]]
            if shift is not None:
                places = torch.arange(offset, offset + ids.shape[1], device=ids.device)
                positions = self.positions[shift[:, None] + places]
            pieces = pieces + positions
        embedded: Tensor = self.dropout(pieces)
        return embedded

    def _rotation(self, offset: int, rows: int) -> Rotation | None:
        """Of the rows from position `offset` on; None where positions are added to the embeddings."""
        if self.shape.positions != "rotary":
            return None
        return Rotation(*self.positions[:, offset : offset + rows])
