"""Names that the model misspells are written as they were said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.engine.fakes import Fake, TargetSeen, current, fake_model
from turia.engine.backend import Logits
from turia.engine.model import Model
from turia.engine.names import MOST_SAID, SpokenNames
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record, Write
from turia.text.subwords import Subwords, train_subwords
from turia.text.symbols import BRK_ID

GERMAN = frozenset(
    ["anna", "und", "peter", "in", "leipzig", "geheiratet", "frau", "wohnt", "buddhismus", "haben", "heute", "zug"]
)
ENGLISH = frozenset(
    ["anna", "and", "peter", "in", "leipzig", "were", "married", "mrs", "lives", "the", "today", "buddhism", "from"]
)
TO_ENGLISH = SpokenNames(GERMAN, ENGLISH, ("de", "en"))
TO_GERMAN = SpokenNames(ENGLISH, GERMAN, ("en", "de"))


def told(names: SpokenNames, written: str, said: str) -> list[str]:
    """The words of a translation, each looked at behind those before it."""
    words: list[str] = []
    for word in written.split():
        instead = names.instead_of(word, words, said.split()) if names.is_doubtful(word) else None
        words.append(instead or word)
    return words


@pytest.mark.parametrize(
    ("said", "written", "expected"),
    [
        ("anna kowalska und peter", "Anna Kolawska and Peter", "Anna Kowalska and Peter"),
        # Marks stay, and so do accents and inner capitals of what was said with capitals.
        ("heute Bütikofer, und", "Today (Birtikofer), and", "Today (Bütikofer), and"),
        ("und McAvoy wohnt", "and McAvy lives", "and McAvoy lives"),
        # Both languages know the name.
        ("frau schmidt in leipzig", "Mrs Schmidt in Leipty.", "Mrs Schmidt in Leipzig."),
        # A title ends no sentence.
        ("frau kowalska", "Dr. Kolawska", "Dr. Kowalska"),
        ("heute KOWALSKA wohnt", "today Kolawska lives", "today Kowalska lives"),
        # The model's word is the English form of what was said, or the name of a genitive.
        ("und die stalinisten", "and the Stalinists", "and the Stalinists"),
        ("und die maroniten", "and the Maronites", "and the Maronites"),
        ("die habsburger", "the Habsburgs", "the Habsburgs"),
        ("anna lindgrens", "and Lindgren", "and Lindgren"),
        ("in leipziger", "in Leipzigs", "in Leipzigs"),
        # It is far from what was said, begins with another letter, or is none that the language lacks.
        ("anna kowalska", "and Kubert", "and Kubert"),
        ("anna kowalska", "and Zowalska", "and Zowalska"),
        ("anna geheiratet", "Mrs Married", "Mrs Married"),
        # German knows the word, and English does not: it has a translation.
        ("der buddhismus", "the Budism", "the Budism"),
        # No capital, or one that any first word has.
        ("anna kowalska", "anna kolawska", "anna kolawska"),
        ("kowalska wohnt", "Kolawska lives", "Kolawska lives"),
        ("heute wohnt kowalska", "today. Kolawska lives", "today. Kolawska lives"),
        # The name is written already, or the model has copied one that was said.
        ("frau kowalska", "Mrs Kowalska and Kolawska", "Mrs Kowalska and Kolawska"),
        ("frau kowalska kolawska", "Mrs Kolawska", "Mrs Kolawska"),
        # One that was copied has the accents and, if they are known, the capitals of what was said.
        ("und kowálska wohnt", "and Kowalska lives", "and Kowálska lives"),
        ("und Kowalska wohnt", "and KoWalska lives", "and Kowalska lives"),
        ("und mcavoy wohnt", "and McAvoy lives", "and McAvoy lives"),
        ("und Coalergy wohnt", "and COALERGY lives", "and COALERGY lives"),
        # Words with figures or hyphens, and short ones, are left alone.
        ("frau abc kowalska2", "Mrs Abd Kolawska2", "Mrs Abd Kolawska2"),
    ],
)
def test_a_name_is_written_as_it_was_said(said: str, written: str, expected: str) -> None:
    assert told(TO_ENGLISH, written, said) == expected.split()


def test_only_the_last_words_of_an_endless_sentence_are_looked_at() -> None:
    said = f"und kowalska {'und ' * (MOST_SAID - 2)}"
    assert told(TO_ENGLISH, "and Kolawska", said) == ["and", "Kowalska"]
    assert told(TO_ENGLISH, "and Kolawska", f"{said} und und") == ["and", "Kolawska"]


def test_of_two_names_the_nearer_one_is_taken() -> None:
    assert told(TO_ENGLISH, "and Kowalsky", "und kovalenko kowalski kowaltschuk") == ["and", "Kowalski"]


@pytest.mark.parametrize(
    ("said", "written", "expected"),
    [
        ("today Anna Kowalska lives", "heute wohnt Anna Kolawska", "heute wohnt Anna Kowalska"),
        # German writes all nouns with a capital, and English names alone. So nothing is known without case,
        ("today anna kowalska lives", "heute wohnt Anna Kolawska", "heute wohnt Anna Kolawska"),
        ("TODAY ANNA KOWALSKA LIVES", "heute wohnt Anna Kolawska", "heute wohnt Anna Kolawska"),
        ("Today Anna Kowalska Lives", "heute wohnt Anna Kolawska", "heute wohnt Anna Kolawska"),
        # The model's word is the German form of what was said, or a compound of it.
        ("friends of Obama lived", "heute Obamas", "heute Obamas"),
        ("in the Schengen train", "in Schengenzug", "in Schengenzug"),
        ("and Lindgren lives", "und Lindgrenzen", "und Lindgren"),
        ("with Lindgren's friend Lindberg", "und Lindgrens", "und Lindgrens"),
        ("and KOWALSKA lives", "und Kolawska", "und Kolawska"),
        # nor of the first word of a sentence.
        ("Kowalska lives today", "heute wohnt Kolawska", "heute wohnt Kolawska"),
        ("today. Kowalska lives", "heute wohnt Kolawska", "heute wohnt Kolawska"),
    ],
)
def test_into_german_capitals_of_what_was_said_tell_names(said: str, written: str, expected: str) -> None:
    assert told(TO_GERMAN, written, said) == expected.split()


# --- in a stream ------------------------------------------------------------------------------------------------------


@cache
def pieces() -> Subwords:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,"
    words = ["Anna", "and", "Kowalska", "Kolawska", "lives", "anna", "und", "kowalska", "wohnt"]
    return train_subwords(dict.fromkeys(words, 20) | dict.fromkeys(letters, 1), vocabulary=380)


class Dictated(Fake):
    """Writes these words, however often one is written in place of another, and ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = [pieces().encode_word(word) for word in text.split()]

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(pieces()), dtype=np.float32)
        written = current([row.piece for row in state.rows])
        ends = [place + 1 for place, piece in enumerate(written) if pieces().ends_word[piece]]
        done, begun = len(ends), len(written) - max(ends, default=0)
        if done < len(self.words):
            word = self.words[done]
            scores[word[min(begun, len(word) - 1)]] = 9.0
        else:
            scores[BRK_ID] = 9.0
        return scores


def misspelling(names: SpokenNames | None = TO_ENGLISH) -> Model:
    model = fake_model(Dictated("Anna and Kolawska, Kolawska lives"))
    return replace(model, source_subwords=pieces(), target_subwords=pieces(), names=names)


SAID = ["anna", "und", "kowalska", "wohnt", "wohnt"]
WRITTEN = ["Anna", "and", "Kowalska,", "Kolawska", "lives"]
"""The second time the name has been written already."""


def words(records: Sequence[Record]) -> list[str]:
    return [record.word for record in records if isinstance(record, Write)]


def stream(names: SpokenNames | None = TO_ENGLISH, **settings: Any) -> Stream:
    return Stream(misspelling(names), GivenSegmenter([len(SAID), 1]), Settings(**settings))


WAYS = [
    {"k": 2},
    {"k": 2, "beam": 3},
    {"policy": "hold-n:n=1"},
    {"policy": "hold-n:n=1", "beam": 3},
    {"policy": "whole"},
]


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_stream_goes_on_with_the_name_as_it_was_said(settings: dict[str, Any]) -> None:
    writing = stream(**settings)
    assert words([record for word in SAID for record in writing.push(word)]) == WRITTEN
    [past] = writing.history.target
    assert pieces().decode_words(past.ids) == WRITTEN
    assert len(past.pieces) == len(WRITTEN)


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_without_lists_of_words_the_model_spells(settings: dict[str, Any]) -> None:
    writing = stream(None, **settings)
    assert words([record for word in SAID for record in writing.push(word)]) == misspelt()
    assert "said" not in writing.state()


def misspelt() -> list[str]:
    return ["Anna", "and", "Kolawska,", "Kolawska", "lives"]


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("read", range(len(SAID)))
def test_a_restored_stream_writes_the_same(settings: dict[str, Any], read: int) -> None:
    begun = stream(**settings)
    before = words([record for word in SAID[:read] for record in begun.push(word)])
    state = json.loads(json.dumps(begun.state()))
    again = Stream.restore(misspelling(), GivenSegmenter([len(SAID), 1]), state)
    after = words([record for word in SAID[read:] for record in again.push(word)])
    assert before + after == WRITTEN


def test_a_state_of_a_release_that_kept_no_words_goes_on() -> None:
    begun = stream(k=2)
    for word in SAID[:2]:
        begun.push(word)
    state = begun.state()
    assert state.pop("said") == SAID[:2]
    again = Stream.restore(misspelling(), GivenSegmenter([len(SAID), 1]), state)
    again.push(SAID[2])
    assert again.state()["said"] == SAID[2:3]


def test_a_word_of_the_glossary_stays() -> None:
    """Kolawska is what the table wants."""
    writing = stream(k=2, glossary="wohnt\tKolawska")
    assert words([record for word in SAID for record in writing.push(word)]) == misspelt()


def test_a_word_that_went_out_early_is_spelt_as_it_was_said() -> None:
    early = stream(k=1)
    out = words(early.push("anna"))
    partial = early.push_partial("und kowalska wohnt wohnt")
    out += words(partial.records)
    out += words([record for word in SAID[1:] for record in early.push(word)])
    assert out == WRITTEN
