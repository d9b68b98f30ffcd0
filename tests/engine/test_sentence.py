"""What is written of a sentence: guards that stop it, and what becomes history."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.engine.fakes import (
    WORDS,
    Fake,
    Rambling,
    Recording,
    TargetSeen,
    fake_model,
    run,
    stream_of,
    subwords,
    written,
)
from turia.engine.backend import Logits
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note, SentenceEnd, Write
from turia.text.symbols import CLOSING_IDS, CONT_ID, DOC_ID, END_ID, SEP_ID


class Loop(Fake):
    """Never ends, always the same two words."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        word = subwords().encode_word(("ka", "le")[len(state.rows) % 2])
        scores[word[0]] = 1.0
        scores[list(CLOSING_IDS)] = -50.0
        return scores


def test_loops_are_cut_noted_and_not_kept_as_history() -> None:
    stream = stream_of(Loop(), [20, 2], k=1)
    records = run(stream, ["ka"] * 22)
    notes = [record.kind for record in records if isinstance(record, Note)]
    assert notes[:2] == ["loop", "history-dropped"]
    first = [record for record in records if isinstance(record, Write) and record.sentence == 0]
    assert len(first) == 12


def test_a_stream_restored_after_a_guard_has_cut_its_sentence_stays_silent() -> None:
    words = ["ka"] * 22
    expected = run(stream_of(Loop(), [20, 2], k=1), words)
    stream = stream_of(Loop(), [20, 2], k=1)
    before = [record for word in words[:15] for record in stream.push(word)]
    assert [record.kind for record in before if isinstance(record, Note)] == ["loop"]
    restored = Stream.restore(fake_model(Loop()), GivenSegmenter([20, 2]), json.loads(json.dumps(stream.state())))
    assert before + run(restored, words[15:]) == expected


def test_a_translation_that_runs_on_is_cut_by_its_length() -> None:
    stream = stream_of(Rambling(), [2, 20], k=1)
    records = run(stream, ["ka"] * 22)
    assert [record for record in records if isinstance(record, SentenceEnd)] == [
        SentenceEnd(0, 2, 15, "given"),
        SentenceEnd(1, 20, 60, "end"),
    ]
    assert [(record.kind, record.sentence) for record in records if isinstance(record, Note)] == [
        ("length", 0),
        ("history-dropped", 0),
        ("length", 1),
        ("history-dropped", 1),
    ]


def test_a_translation_may_have_the_length_that_gamma_asks_for() -> None:
    records = run(stream_of(Rambling(), [6], k=1, gamma=10.0), ["ka"] * 6)
    assert [record.target_words for record in records if isinstance(record, SentenceEnd)] == [10 + 15 * 6]


def test_a_translation_stops_where_the_model_has_no_room_for_a_word() -> None:
    stream = Stream(fake_model(Rambling(), max_positions=64), GivenSegmenter([12]), Settings(k=1))
    records = run(stream, ["ka"] * 12)
    [cut, dropped] = [record for record in records if isinstance(record, Note)]
    assert (cut.kind, dropped.kind) == ("positions", "history-dropped")
    # The opening symbol, 23 words of a piece, and 40 positions that another word might take.
    assert len(written(records)) == 23


def test_a_beam_plans_no_further_than_the_guards_let_a_sentence_go() -> None:
    """A model that finds no end must not be asked for all the positions that it has."""
    backend = Loop()
    stream = stream_of(backend, [2], k=9, beam=2)
    records = run(stream, ["ka", "le"])
    assert [record.kind for record in records if isinstance(record, Note)] == ["loop", "history-dropped"]
    # A word is a piece here: the first plan has four times the 15 words that two source words may have.
    assert 50 < len(backend.batches) < 70


def test_a_beam_plans_no_further_than_the_model_has_positions() -> None:
    backend = Loop()
    stream = Stream(fake_model(backend, max_positions=64), GivenSegmenter([12]), Settings(k=20, beam=2))
    run(stream, ["ka"] * 12)
    # One call encodes, and each of the others adds a position; 40 words would be allowed, which is 160 pieces.
    assert 50 < len(backend.batches) <= 65


@pytest.mark.parametrize(
    ("bad", "guard"),
    [
        (["ka", "le"] * 7, ["loop"]),
        ([word for other in WORDS[2:8] for word in ("ka", "le", other)], []),
    ],
)
def test_after_a_degenerate_sentence_the_history_is_empty(bad: list[str], guard: list[str]) -> None:
    """Whether a guard cut it, or it was found out at its end: nothing of it, and nothing before it, is shown again."""
    backend = Recording()
    stream = stream_of(backend, [3, len(bad), 2, 2], k=1)
    records = run(stream, ["ka", "le", "mi", *bad, "no", "pu", "ra", "ka"])
    assert [record.kind for record in records if isinstance(record, Note)] == [*guard, "history-dropped"]
    ka, le, mi, no, pu, ra = (subwords().encode_word(word)[0] for word in ("ka", "le", "mi", "no", "pu", "ra"))
    windows = [request.ids.tolist() for request in backend.encoded if request.state is None]
    assert windows == [[DOC_ID, ka], [DOC_ID, ka, le, mi, SEP_ID, ka], [CONT_ID, no], [CONT_ID, no, pu, SEP_ID, ra]]
    prefixes = [request.ids.tolist() for request in backend.decoded if request.state is None]
    assert prefixes == [[DOC_ID], [DOC_ID, ka, le, mi, SEP_ID], [CONT_ID], [CONT_ID, no, pu, SEP_ID]]


def test_a_sentence_without_a_translation_is_no_history() -> None:
    backend = Recording()
    stream = stream_of(backend, [2, 1, 2], k=1)
    records = run(stream, ["ka", "le", "–", "mi", "no"])
    assert [record.target_words for record in records if isinstance(record, SentenceEnd)] == [2, 0, 2]
    ka, le, mi = (subwords().encode_word(word)[0] for word in ("ka", "le", "mi"))
    windows = [request.ids.tolist() for request in backend.encoded if request.state is None]
    assert windows == [[DOC_ID, ka], [DOC_ID, ka, le, SEP_ID, mi]]


def test_a_first_sentence_without_a_translation_leaves_no_beginning() -> None:
    """The window of the second does not begin with the document's first sentence (METHOD section 3)."""
    backend = Recording()
    run(stream_of(backend, [1, 2, 1], k=1), ["–", "ka", "le", "mi"])
    ka, le, mi = (subwords().encode_word(word)[0] for word in ("ka", "le", "mi"))
    windows = [request.ids.tolist() for request in backend.encoded if request.state is None]
    assert windows == [[CONT_ID, ka], [CONT_ID, ka, le, SEP_ID, mi, END_ID]]
