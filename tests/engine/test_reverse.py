"""Cutting by a model of the opposite direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.engine.fakes import Fake, FreeEcho, Row, TargetSeen, fake_model, subwords
from turia.engine.backend import run_steps
from turia.engine.choosing import log_probabilities
from turia.engine.cutting import best_cut
from turia.engine.reverse import CHANCE, reverse_scores
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import FreeSegmenter
from turia.stream.trace import SentenceEnd, Write
from turia.text.symbols import BRK_ID, CONT_ID, END_ID, SEP_ID


class Writes(Fake):
    """Gives back, as text, the words that it reads: the first in capitals, with commas, and a full stop at the end."""

    commas = False

    def logits(self, state: TargetSeen):  # type: ignore[no-untyped-def]
        scores = np.zeros(len(subwords()), dtype=np.float32)
        ids = [column[0] for column in state.rows[-1].seen if column[0] > END_ID]
        words = subwords().decode_words(ids)
        marks = ["," if self.commas else ""] * (len(words) - 1) + ["."]
        text = [word + mark for word, mark in zip(words, marks, strict=True)]
        text[0] = text[0].capitalize()
        wanted = [piece for word in text for piece in subwords().encode_word(word)] + [BRK_ID]
        place = sum(row.piece > END_ID for row in state.rows)
        scores[wanted[min(place, len(wanted) - 1)]] = 12.0
        return scores


class WritesCommas(Writes):
    commas = True


def scores(backend: Fake, written: str, source: str) -> list[float]:
    model = fake_model(backend)
    return list(run_steps(reverse_scores(model, written.split(), source.split()), backend))


def test_the_words_that_were_translated_are_likeliest() -> None:
    for backend in (Writes(), WritesCommas()):
        found = scores(backend, "Ka leta Miso.", "ka leta miso no pu ra")
        assert best_cut(np.array(found)) == 3
        assert found[2] > max(found[1], found[3]) + 5


def test_a_score_is_what_the_written_words_add_to_all_spellings() -> None:
    """One word, worked out piece by piece from what the model says with it to translate, and with a dash."""
    backend = Writes()
    model = fake_model(backend)

    def chance(read: str, spelling: str, ends: bool) -> float:
        seen = tuple((piece, 9) for piece in [*subwords().encode_word(read), BRK_ID])
        pieces = [CONT_ID, *subwords().encode_word(spelling), *([SEP_ID] if ends else [])]
        total = 0.0
        for n, piece in enumerate(pieces[1:], start=1):
            logits = backend.logits(TargetSeen(tuple(Row(i, seen) for i in pieces[:n])))
            tables = model.forbidden
            in_word = n > 1 and piece != SEP_ID
            total += log_probabilities(logits, tables.in_word if in_word else tables.word_start_or_end)[piece]
        return float(total)

    told = [chance("ka", spelling, True) for spelling in ("ka.", "Ka.", "ka?", "Ka?")]
    in_any_case = [chance("-", spelling, False) for spelling in ("ka", "Ka", "ka,", "Ka,")]
    (found,) = scores(backend, "ka", "ka")
    assert np.isclose(found, np.logaddexp.reduce(told) - CHANCE * np.logaddexp.reduce(in_any_case))


class LikesText(Writes):
    """Goes on with any other word more readily beside a text than beside a dash."""

    def logits(self, state: TargetSeen):  # type: ignore[no-untyped-def]
        scores = super().logits(state)
        dash = set(subwords().encode_word("-"))
        if any(column[0] > END_ID and column[0] not in dash for column in state.rows[-1].seen):
            scores[END_ID + 1 :] += 4.0 * (scores[END_ID + 1 :] == 0)
        return scores


def test_what_any_text_makes_likelier_does_not_draw_the_cut_behind_the_next_words() -> None:
    model = fake_model(LikesText())

    def cut(chance: float) -> int:
        steps = reverse_scores(model, ["Ka", "leta", "Miso."], ["ka", "leta", "miso", "no", "pu", "ra"], chance)
        return best_cut(run_steps(steps, model.backend))

    assert cut(CHANCE) == 3
    assert cut(1.0) == 5, "with all of what the model would say in any case"


def test_words_that_are_none_belong_to_the_one_before() -> None:
    model, backend = fake_model(Writes()), Writes()
    found = run_steps(reverse_scores(model, ["ka"], ["", "ka", "", "mi"]), backend)
    assert found[0] == -np.inf
    assert found[1] == found[2]


def test_a_segment_without_text_has_scores_too() -> None:
    assert len(scores(Writes(), "…", "ka mi")) == 2


def test_a_stream_is_cut_by_its_reverse_model() -> None:
    reverse = fake_model(Writes())
    model = replace(fake_model(FreeEcho(), free=True), reverse=reverse)
    stream = Stream(model, FreeSegmenter("reverse"), Settings(k=4))
    words = ["ka", "leta", "ra", "mi", "nota", "punde", "ra", "ka", "ra"]
    records = [record for word in words for record in stream.push(word)] + stream.flush()
    assert [record.word for record in records if isinstance(record, Write)] == words
    assert [record.source_words for record in records if isinstance(record, SentenceEnd)] == [3, 4, 2]
    assert reverse.backend.batches, "it was asked"  # type: ignore[attr-defined]
