"""Whole sentences at once: each gets what one pass over it says, alone or among others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.engine.fakes import WORDS, subwords
from tests.engine.test_training_match import random_transformer, sentence
from turia.config import OFFLINE_K, Encoder, Positions
from turia.model.sentences import Draw, SentenceTranslator, Written, _choose
from turia.model.transformer import Transformer
from turia.policy.masks import encoder_reach
from turia.text.choice import forbidden_pieces
from turia.text.layout import Window, lay_out
from turia.text.symbols import BRK_ID, CLOSING_IDS, CONT_ID, DOC_ID, END_ID

MOST = 40
SOURCES = [[WORDS[(5 * n + i) % len(WORDS)] for i in range(1 + n % 7)] for n in range(20)]
OPENS = [n % 5 == 0 for n in range(len(SOURCES))]


def windows() -> list[Window]:
    return [lay_out([sentence(w)], o, END_ID if o else BRK_ID) for w, o in zip(SOURCES, OPENS, strict=True)]


@torch.no_grad()
def speaking(encoder: Encoder, positions: Positions) -> Transformer:
    """Random weights that prefer whole words and ends: others write endless words, or nothing at all."""
    model = random_transformer(encoder, positions)
    ends = torch.from_numpy(subwords().ends_word)
    prior = torch.where(ends, 0.0, -4.0)
    prior[list(CLOSING_IDS)] = 0.5
    norm = model.decoder_norm
    assert isinstance(norm, nn.LayerNorm)
    norm.weight.mul_(0.4)
    norm.bias[0] = 10
    model.target_embedding.weight[:, 0] = prior / 10
    return model


@torch.no_grad()
def best_pieces(model: Transformer, window: Window, opens: bool, pieces: list[int]) -> list[int]:
    """The best piece after each of `pieces` and before them, in one pass."""
    everything = torch.full((1, len(pieces) + 1), len(window.ids))
    target = torch.tensor([[DOC_ID if opens else CONT_ID, *pieces]])
    reach = torch.from_numpy(encoder_reach(window, OFFLINE_K, model.shape.encoder, "sentence"))[None]
    states = model(torch.from_numpy(window.ids)[None], reach, target, everything)
    logits = model.logits(states[0]).numpy()
    tables, ends = forbidden_pieces(subwords()), [True, *(bool(subwords().ends_word[piece]) for piece in pieces)]
    masks = np.array([tables.word_start_or_end if end else tables.in_word for end in ends])
    return [int(piece) for piece in np.where(masks, -np.inf, logits).argmax(axis=1)]


@pytest.mark.parametrize("encoder", ["pbe", "unidirectional", "bidirectional"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_greedy_takes_the_best_piece_of_one_pass(encoder: Encoder, positions: Positions) -> None:
    model = speaking(encoder, positions)
    translator = SentenceTranslator(model, subwords())
    together = translator.translate(windows(), OPENS, MOST, Draw())
    assert {written.ended for written in together} == {True, False}, "some leave the batch before others"
    for written, window, opens in zip(together, windows(), OPENS, strict=True):
        best = best_pieces(model, window, opens, written.pieces)
        assert best[:-1] == written.pieces
        assert (best[-1] in CLOSING_IDS) == written.ended
        assert written.ended or len(written.pieces) == MOST + 1
    alone = [translator.translate([w], [o], MOST, Draw())[0] for w, o in zip(windows(), OPENS, strict=True)]
    assert alone == together


def test_samples_follow_the_seed_and_are_words() -> None:
    translator = SentenceTranslator(speaking("pbe", "rotary"), subwords())

    def drawn(draw: Draw, seed: int) -> list[Written]:
        return translator.translate(windows(), OPENS, MOST, draw, seed)

    greedy, warm = drawn(Draw(), 1), drawn(Draw(1.0), 1)
    assert warm == drawn(Draw(1.0), 1)
    assert warm != drawn(Draw(1.0), 2)
    assert warm != greedy
    assert drawn(Draw(1.0, top=1), 3) == greedy
    assert len({len(written.pieces) for written in warm if written.ended}) > 3
    for pieces, ended in warm:
        if ended and pieces:
            assert subwords().ends_word[pieces[-1]]
            assert not subwords().is_control[pieces].any()
            starts = [0, *(1 + i for i, piece in enumerate(pieces[:-1]) if subwords().ends_word[piece])]
            assert not subwords().starts_empty_word[[pieces[start] for start in starts]].any()


@pytest.mark.parametrize(("draw", "expected"), [(Draw(1.0), (0.6, 0.3, 0.1)), (Draw(0.5, top=2), (0.8, 0.2, 0.0))])
def test_pieces_are_drawn_by_their_probability(draw: Draw, expected: tuple[float, ...]) -> None:
    logits = torch.tensor([0.6, 0.3, 0.1, 0.0]).log().expand(4000, 4)
    chosen = _choose(logits, draw, torch.Generator().manual_seed(1))
    shares = np.bincount(chosen.numpy(), minlength=4) / 4000
    assert shares[:3] == pytest.approx(expected, abs=0.03)
    assert shares[3] == 0


def test_bfloat16_loses_no_rare_piece() -> None:
    """Half of the probability on one piece, the rest on a thousand: less than a bfloat16 sum has room for."""
    probabilities = torch.cat([torch.tensor([0.5]), torch.full((1000,), 0.0005)])
    logits = probabilities.log().bfloat16().expand(8000, 1001)
    chosen = _choose(logits, Draw(1.0), torch.Generator().manual_seed(1)).numpy()
    assert (chosen == 0).mean() == pytest.approx(0.5, abs=0.03)
    assert len(np.unique(chosen)) > 900
