"""Cutting by a model of the opposite direction: how many words of the active source does the written segment translate?

    log p(the first j words, and no more | what was written) - CHANCE · log p(the first j words)        for every j

The reverse model writes text, with capitals and punctuation; the active source is what a recogniser heard, without.
So a word counts with all spellings that it may have in text: `herren` as herren, Herren, "herren," and "Herren,".
Where the sentence ends, a full stop follows. One model call for each word, of all its spellings; the likeliest one goes
on.

The second term is what the model gives the words in any case (it is shown a lone dash). Without it every further word
would lower the score by its surprise, and a model that is not sure of its words would cut after the first one. All of
it would be too much: any text tells more about the words of the next sentence than a dash does, so the cut would be
behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turia.config import OFFLINE_K
from turia.engine.backend import DecoderState, EncodeRequest, EncoderState, Logits, LookRequest, Looks, Steps
from turia.engine.choosing import log_probabilities
from turia.engine.cutting import Scores
from turia.engine.model import Model
from turia.engine.window import PartialSentence
from turia.policy.masks import encoder_reach
from turia.text.layout import lay_out
from turia.text.normalise import clean_word, normalise_word
from turia.text.symbols import BRK_ID, CONT_ID, SEP_ID

CHANCE = 0.75
"""`python -m benchmarks.cutting` compares other values: with 1, four cuts in ten were too late."""
INSIDE, AT_END = ("", ","), (".", "?")
"""What may follow a word in text, where its sentence goes on and where it ends."""


class _Place(NamedTuple):
    """After some words of the source."""

    score: float
    """Log-probability of the last word."""
    state: DecoderState
    logits: Logits
    """Of the next piece."""
    memory: EncoderState
    """What is translated."""


class _Spelling(NamedTuple):
    pieces: tuple[int, ...]
    ends: bool


def reverse_scores(
    model: Model, written: Sequence[str], source: Sequence[str], chance: float = CHANCE
) -> Steps[Scores]:
    """[R] for each j, how much likelier the words `written` make the first j of the words `source`, and an end there.

    As logarithms. The steps are for the backend of `model`, which reads what was written.
    """
    told, untold = (yield from _begin(model, written)), (yield from _begin(model, ()))
    gained = 0.0
    scores = np.full(len(source), -np.inf)
    for number, word in enumerate(source):
        spellings = _spellings(model, word)
        if told.state.length + max((len(one.pieces) for one in spellings), default=0) >= model.max_positions:
            break
        if not spellings:
            # A word that is none in text, such as a lone dash, belongs to the one before it.
            scores[number] = scores[number - 1] if number else -np.inf
            continue
        inside = [one for one in spellings if not one.ends]
        asked = [(told, one) for one in spellings] + [(untold, one) for one in inside]
        found: list[Looks] = yield [
            LookRequest(at.state, at.memory, np.array(one.pieces), np.full(len(one.pieces), at.memory.length))
            for at, one in asked
        ]
        after = [_after(model, at, one, looks) for (at, one), looks in zip(asked, found, strict=True)]
        known, guessed = after[: len(spellings)], after[len(spellings) :]
        ends = [_end(model, at) for one, at in zip(spellings, known, strict=True) if one.ends]
        goes_on = [at for one, at in zip(spellings, known, strict=True) if not one.ends]
        by_chance = chance * _together(guessed)
        scores[number] = gained + float(np.logaddexp.reduce(ends)) - by_chance
        gained += _together(goes_on) - by_chance
        told, untold = _likeliest(goes_on), _likeliest(guessed)
    return scores


def _together(places: Sequence[_Place]) -> float:
    return float(np.logaddexp.reduce([at.score for at in places]))


def _likeliest(places: Sequence[_Place]) -> _Place:
    """Where the next word goes on; its own probability begins anew."""
    return max(places, key=lambda at: at.score)._replace(score=0.0)


def _begin(model: Model, written: Sequence[str]) -> Steps[_Place]:
    """Before the first word, with these words to translate; without any, what the model would say in any case."""
    memory = yield from _encoded(model, written)
    opening = [CONT_ID] if model.target_piece is None else [CONT_ID, model.target_piece]
    (first,) = yield [LookRequest(None, memory, np.array(opening), np.full(len(opening), memory.length))]
    return _Place(0.0, first.state, first.logits[-1], memory)


def _encoded(model: Model, words: Sequence[str]) -> Steps[EncoderState]:
    """What was written, as a source of the reverse model."""
    heard = PartialSentence()
    most = model.max_positions - 3
    for word in words:
        normal = normalise_word(word) if model.normalises else clean_word(word)
        pieces = model.source_subwords.encode_word(normal) if normal else ()
        if pieces and len(heard.ids) + len(pieces) <= most:
            heard.add(pieces)
    if not heard.words:
        heard.add(model.source_subwords.encode_word("-"))
    window = lay_out([heard.sentence()], False, BRK_ID, model.source_opening, model.source_piece)
    reach = encoder_reach(window, OFFLINE_K, model.encoder, model.anchor)
    (encoded,) = yield [EncodeRequest(None, window.ids, reach)]
    state: EncoderState = encoded
    return state


def _spellings(model: Model, word: str) -> list[_Spelling]:
    if not word:
        return []
    cases = list(dict.fromkeys((word, word[:1].upper() + word[1:])))
    encode = model.target_subwords.encode_word
    inside = [_Spelling(encode(case + mark), False) for case in cases for mark in INSIDE]
    return inside + [_Spelling(encode(case + mark), True) for case in cases for mark in AT_END]


def _after(model: Model, place: _Place, spelling: _Spelling, looks: Looks) -> _Place:
    """The place after this spelling of the next word."""
    rows = [place.logits, *looks.logits[:-1]]
    tables, score, begun = model.forbidden, place.score, False
    for piece, logits in zip(spelling.pieces, rows, strict=True):
        score += float(log_probabilities(logits, tables.in_word if begun else tables.word_start_or_end)[piece])
        begun = True
    return _Place(score, looks.state, looks.logits[-1], place.memory)


def _end(model: Model, place: _Place) -> float:
    """Log-probability that the sentence ends there; all closing symbols count as one."""
    return place.score + float(log_probabilities(place.logits, model.forbidden.word_start_or_end)[SEP_ID])
