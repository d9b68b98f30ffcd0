"""Whole sentences translated many at once, for corpora: nobody waits for a word, so rows of like length go together.

Greedy, or by sampling. The rules for pieces are those of the engine (text/choice.py): no symbols in words, no empty
words. What one sentence gets does not depend on its neighbours, but for the rounding of sums and the order in which
samples are drawn.

Letters: B sentences, S source positions, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from turia.config import OFFLINE_K
from turia.model.layers import KeysValues
from turia.model.transformer import Transformer
from turia.policy.masks import encoder_reach
from turia.text.choice import forbidden_pieces
from turia.text.layout import Ints, Window
from turia.text.subwords import Subwords
from turia.text.symbols import CLOSING_IDS, CONT_ID, DOC_ID

_FEWER = 0.9
"""Sentences that have ended are taken out of the batch when no more than this share goes on."""


@dataclass(frozen=True)
class Draw:
    """How the next piece is chosen: the best one, or one drawn by its probability."""

    temperature: float = 0.0
    """0 takes the best. Below 1 sharpens what is likely; 1 is the model's own distribution."""
    top: int = 0
    """Draws among so many best pieces; 0 among all."""


class Written(NamedTuple):
    """A translation in pieces, without symbols."""

    pieces: list[int]
    ended: bool
    """False if it was still going on at the greatest length."""


class SentenceTranslator:
    """A model that reads whole sentences. `target` are its target subwords."""

    def __init__(self, model: Transformer, target: Subwords) -> None:
        self.model = model.eval()
        self.device = next(model.parameters()).device
        tables = forbidden_pieces(target)
        self._forbidden = torch.from_numpy(np.stack([tables.word_start_or_end, tables.in_word])).to(self.device)
        """[2, V] between words, and in a word."""
        self._ends_word = torch.from_numpy(target.ends_word).to(self.device)
        self._closing = torch.zeros(len(target), dtype=torch.bool, device=self.device)
        self._closing[list(CLOSING_IDS)] = True

    @torch.no_grad()
    def translate(
        self, sources: Sequence[Window], opens: Sequence[bool], most: int, draw: Draw, seed: int = 0
    ) -> list[Written]:
        """The translation of each, up to `most` pieces.

        `sources` are closed windows of one sentence each; `opens` says of each whether it begins its document.
        """
        generator = torch.Generator(self.device).manual_seed(seed)
        memory, length = self._encode(sources)
        alive = torch.arange(len(sources), device=self.device)
        pieces = torch.tensor([DOC_ID if one else CONT_ID for one in opens], device=self.device)
        in_word = torch.zeros_like(pieces)
        past: list[KeysValues] | None = None
        found: list[list[int]] = [[] for _ in sources]
        ended = [False] * len(sources)
        for _ in range(min(most + 1, self.model.shape.max_positions)):
            states, past = self.model.decode(pieces[:, None], memory, length[:, None], past)
            logits = self.model.logits(states[:, 0]).masked_fill_(self._forbidden[in_word], float("-inf"))
            pieces = _choose(logits, draw, generator)
            over = self._closing[pieces]
            for sentence, piece, last in zip(alive.tolist(), pieces.tolist(), over.tolist(), strict=True):
                if ended[sentence]:
                    continue
                ended[sentence] = last
                if not last:
                    found[sentence].append(piece)
            going = ~torch.tensor([ended[sentence] for sentence in alive.tolist()], device=self.device)
            count = int(going.sum())
            if not count:
                break
            in_word = (~self._ends_word[pieces]).long()
            if count <= _FEWER * len(alive):
                alive, pieces, in_word, length = alive[going], pieces[going], in_word[going], length[going]
                memory, past = _rows(memory, going), _rows(past, going)
        return list(map(Written, found, ended))

    def _encode(self, sources: Sequence[Window]) -> tuple[list[KeysValues], Tensor]:
        """What cross-attention keeps of the sources, and [B] their lengths."""
        shape = self.model.shape
        reach = [encoder_reach(window, OFFLINE_K, shape.encoder, shape.anchor) for window in sources]
        states = self.model.encode(self._padded([w.ids for w in sources], 0), self._padded(reach, 1)).states
        return self.model.memory(states), torch.tensor([len(w.ids) for w in sources], device=self.device)

    def _padded(self, rows: Sequence[Ints], value: int) -> Tensor:
        table = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
        for number, row in enumerate(rows):
            table[number, : len(row)] = row
        return torch.from_numpy(table).to(self.device)


def _choose(logits: Tensor, draw: Draw, generator: torch.Generator) -> Tensor:
    """[B] a piece of each row."""
    if draw.temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits.float()  # sums in bfloat16 would pass over rare pieces
    if draw.top:
        logits, places = logits.topk(min(draw.top, logits.shape[1]), dim=-1)
        return places.gather(1, _draw((logits / draw.temperature).softmax(dim=-1), generator))[:, 0]
    return _draw((logits / draw.temperature).softmax(dim=-1), generator)[:, 0]


def _draw(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """[B, 1] an index of each row of [B, V]. One random number a row: torch.multinomial draws V of them."""
    sums = probabilities.cumsum(dim=-1)
    random = torch.rand(len(sums), 1, generator=generator, device=sums.device)
    # A little below the last sum, which rounding must not reach: what comes after it may be forbidden.
    return torch.searchsorted(sums, random * sums[:, -1:] * (1 - 1e-6), right=True)


def _rows(layers: list[KeysValues], kept: Tensor) -> list[KeysValues]:
    return [KeysValues(layer.keys[kept], layer.values[kept]) for layer in layers]
