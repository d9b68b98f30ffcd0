"""How a sentence is written: the steps that a writer asks the model for, and the pieces that it takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.fakes import WORDS, Echo, Fake, Recording, TargetSeen, current, fake_model, subwords
from turia.engine.backend import Logits
from turia.engine.settings import LONGEST_WORD, Encoding, Settings
from turia.engine.stream import Stream
from turia.engine.writer import REPLACEMENT
from turia.policy.waitk import Rounding
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Write
from turia.text.symbols import BRK_ID, CLOSING_IDS, DOC_ID, END_ID, SEP_ID


def written(stream: Stream, words: list[str]) -> list[str]:
    """What a stream writes for `words`; not flushed, so a sentence that is not closed stays so."""
    records = [record for word in words for record in stream.push(word)]
    return [record.word for record in records if isinstance(record, Write)]


def piece(word: str) -> int:
    [only] = subwords().encode_word(word)
    return only


SAID = ["ka", "le", "mi", "no"]
KA, LE, MI, NO = map(piece, SAID)
ANEW = [[3] * 3, [4] * 4, [6] * 6]
"""Columns that the positions see when a window is encoded at each READ: the symbol and two words, and so on."""


@pytest.mark.parametrize(
    ("encoder", "encoding", "reach"),
    [
        ("pbe", "incremental", [[3, 3, 3], [4], [5, 6]]),
        ("unidirectional", "incremental", [[1, 2, 3], [4], [5, 6]]),
        ("pbe", "full", ANEW),
        ("unidirectional", "full", [[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]]),
        ("bidirectional", "incremental", ANEW),
        ("bidirectional", "full", ANEW),
    ],
)
def test_what_is_encoded_when_a_word_is_read(encoder: str, encoding: Encoding, reach: list[list[int]]) -> None:
    backend = Recording()
    stream = Stream(fake_model(backend, encoder), GivenSegmenter([4, 9]), Settings(k=2, encoding=encoding))
    assert written(stream, SAID) == SAID
    anew = encoding == "full" or encoder == "bidirectional"
    window = [DOC_ID, KA, LE, MI, NO, BRK_ID]
    assert [request.reach.tolist() for request in backend.encoded] == reach
    assert [request.ids.tolist() for request in backend.encoded] == [
        window[:3],
        window[:4] if anew else [MI],
        window if anew else [NO, BRK_ID],
    ]
    assert [request.state is None for request in backend.encoded] == [True, anew, anew]


def test_written_words_keep_the_source_that_they_saw() -> None:
    backend = Recording()
    stream = Stream(fake_model(backend), GivenSegmenter([4, 9]), Settings(k=2))
    assert written(stream, SAID) == SAID
    rows = [(request.ids.tolist(), request.limit.tolist()) for request in backend.decoded]
    assert rows == [([DOC_ID], [3]), ([KA], [4]), ([LE], [6]), ([MI], [6]), ([NO], [6])]
    assert [request.state is None for request in backend.decoded] == [True, False, False, False, False]


def test_recomputed_they_see_all_that_has_been_read_since() -> None:
    backend = Recording()
    stream = Stream(fake_model(backend), GivenSegmenter([4, 9]), Settings(k=2, recompute=True))
    assert written(stream, SAID) == SAID
    prefix = [DOC_ID, KA, LE, MI, NO]
    rows = [(request.ids.tolist(), request.limit.tolist()) for request in backend.decoded]
    assert rows == [(prefix[:count], [read] * count) for count, read in ((1, 3), (2, 4), (3, 6), (4, 6), (5, 6))]
    assert all(request.state is None for request in backend.decoded)


def test_rows_inside_a_word_of_the_beam_keep_what_they_saw() -> None:
    """The beam commits whole words: their rows are fed with the next one, when more has been read."""
    backend = Recording()
    stream = Stream(fake_model(backend), GivenSegmenter([9]), Settings(k=1, beam=2, lookahead=1))
    assert written(stream, ["xyz", "ka"]) == ["xyz", "ka"]
    [request] = [request for request in backend.decoded if len(request.ids) > 1]
    assert request.ids.tolist() == list(subwords().encode_word("xyz"))
    assert request.limit.tolist() == [5, 5, 5, 6]


def test_an_end_that_comes_late_is_shown_by_itself() -> None:
    """The last word has been encoded when a pause, or the end of the stream, closes its sentence."""
    backend = Recording()
    stream = Stream(fake_model(backend), GivenSegmenter([9, 9]), Settings(k=1))
    written(stream, ["ka", "le"])
    stream.push_pause()
    written(stream, ["mi"])
    stream.flush()
    assert [request.ids.tolist() for request in backend.encoded] == [
        [DOC_ID, KA],
        [LE],
        [BRK_ID],
        [DOC_ID, KA, LE, SEP_ID, MI],
        [END_ID],
    ]


@pytest.mark.parametrize(
    ("anchor", "rounding", "limits"),
    [
        # <DOC> ka le mi <SEP> no: the words that each row asks for, and <SEP> with the last of them.
        ("sentence", "floor", [2, 3, 5, 5, 6]),
        ("sentence", "ceil", [2, 5, 5, 5, 6]),
        ("window", "floor", [2, 3, 4, 5, 6]),
    ],
)
def test_rows_of_the_history_see_what_they_saw_in_training(anchor: str, rounding: Rounding, limits: list[int]) -> None:
    backend = Recording()
    settings = Settings(k=1, gamma=0.8, rounding=rounding)
    stream = Stream(fake_model(backend, anchor=anchor), GivenSegmenter([3, 9]), settings)
    assert written(stream, SAID) == SAID
    [_, request] = [request for request in backend.decoded if request.state is None]
    assert (request.ids.tolist(), request.limit.tolist()) == ([DOC_ID, KA, LE, MI, SEP_ID], limits)


def test_a_large_k_shows_rows_of_the_history_no_more_than_was_read() -> None:
    backend = Recording()
    stream = Stream(fake_model(backend, anchor="window"), GivenSegmenter([3, 1, 9]), Settings(k=4))
    assert written(stream, SAID) == SAID
    [_, request] = [request for request in backend.decoded if request.state is None]
    assert request.limit.tolist() == [5, 6, 7, 7, 7]


class Forging(Echo):
    """An echo to which every reserved symbol, and the empty word, looks better wherever it may not stand."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = 10 * super().logits(state)
        pieces = current([row.piece for row in state.rows])
        between_words = not pieces or bool(subwords().ends_word[pieces[-1]])
        complete = state.rows[-1].seen[-1][0] in CLOSING_IDS
        symbols = subwords().is_control.copy()
        if between_words:
            symbols |= subwords().starts_empty_word
            symbols[list(CLOSING_IDS)] = not complete
        scores[symbols] = 99.0
        return scores


@pytest.mark.parametrize("beam", [1, 3])
def test_no_symbol_and_no_empty_word_is_ever_written(beam: int) -> None:
    words = ["xyz", "ka", "xyz", "le", "xyz"]
    assert len(subwords().encode_word("xyz")) == 4, "symbols must be kept out of words too"
    stream = Stream(fake_model(Forging()), GivenSegmenter([5, 9]), Settings(k=1, beam=beam))
    assert written(stream, words) == words


class Endless(Fake):
    """A word that has no end."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        scores[subwords().encode_word("xyz")[0]] = 1.0
        return scores


@pytest.mark.parametrize("beam", [1, 2])
def test_a_word_without_an_end_is_ended_by_force(beam: int) -> None:
    stream = Stream(fake_model(Endless()), GivenSegmenter([9]), Settings(k=1, beam=beam))
    [word] = written(stream, ["ka"])
    assert word.startswith("x" * (LONGEST_WORD - 1))
    assert stream.current.writer.target.pieces == [LONGEST_WORD]


class Stuttering(Fake):
    """One word of several pieces, over and over."""

    word = subwords().encode_word("xyzx")

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        scores[self.word[len(current([row.piece for row in state.rows])) % len(self.word)]] = 20.0
        scores[list(CLOSING_IDS)] = -50.0
        return scores


def test_a_plan_has_whole_words() -> None:
    """It is broken off in the middle of one, as its words have not the four pieces each that it reckons with."""
    assert 48 % len(Stuttering.word) > 0
    stream = Stream(fake_model(Stuttering()), GivenSegmenter([1, 9]), Settings(k=1, beam=2))
    assert written(stream, ["ka"]) == ["xyzx"] * 12, "and then it is a loop"


class Mojibake(Fake):
    """Every word is one byte."""

    def __init__(self, byte: str) -> None:
        super().__init__()
        self.byte = byte

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        [end] = np.flatnonzero(subwords().starts_empty_word)
        between_words = len(current([row.piece for row in state.rows])) % 2 == 0
        scores[subwords().pieces.index(self.byte) if between_words else end] = 1.0
        return scores


@pytest.mark.parametrize("byte", ["<0xFF>", "<0x07>", "<0x20>"])
def test_bytes_that_spell_no_word_leave_a_mark(byte: str) -> None:
    stream = Stream(fake_model(Mojibake(byte)), GivenSegmenter([9]), Settings(k=1))
    assert written(stream, ["ka", "le"]) == [REPLACEMENT] * 2


class GardenPath(Fake):
    """ "ka" looks better than "le" until the third piece: after "ka mi" anything may come, after "le no" one thing."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.full(len(subwords()), -50.0, dtype=np.float32)
        path = current([row.piece for row in state.rows])
        if not path:
            scores[[KA, LE]] = (1.0, 0.0)
        elif path == [KA, MI]:
            scores[[piece(word) for word in WORDS]] = 0.0
        else:
            scores[MI if path == [KA] else NO] = 0.0
        return scores


@pytest.mark.parametrize(
    ("beam", "lookahead", "word"), [(1, 6, "ka"), (2, 1, "ka"), (2, 2, "ka"), (2, 3, "le"), (2, 6, "le")]
)
def test_the_beam_looks_ahead_so_far_and_no_further(beam: int, lookahead: int, word: str) -> None:
    settings = Settings(k=1, beam=beam, lookahead=lookahead)
    assert written(Stream(fake_model(GardenPath()), GivenSegmenter([9]), settings), ["pu"]) == [word]


def test_the_first_end_that_looks_best_does_not_end_the_search() -> None:
    """After "ka" the end is a little likelier than anything else, but what else there is is sure from there on."""

    class Tempting(Fake):
        def logits(self, state: TargetSeen) -> Logits:
            path = current([row.piece for row in state.rows])
            chances = {0: {KA: 0.9, LE: 0.1}, 1: {END_ID: 0.55, MI: 0.45}, 2: {MI: 1.0}, 3: {END_ID: 1.0}}
            scores = np.full(len(subwords()), -50.0, dtype=np.float32)
            for piece, chance in chances[min(len(path), 3)].items():
                scores[piece] = np.log(chance)
            return scores

    stream = Stream(fake_model(Tempting()), GivenSegmenter([1, 9]), Settings(k=1, beam=2))
    # ln 0.9 + ln 0.55 are -0.35 a piece, ahead of -0.45 of what goes on; but that has -0.23 in the end.
    assert written(stream, ["pu"]) == ["ka", "mi", "mi"]


@pytest.mark.parametrize(("penalty", "words"), [(1.0, ["ka"]), (3.0, ["ka", "mi", "mi"])])
def test_a_penalty_of_length_prefers_longer_translations(penalty: float, words: list[str]) -> None:
    class Early(Fake):
        def logits(self, state: TargetSeen) -> Logits:
            path = current([row.piece for row in state.rows])
            chances = {0: {KA: 0.9, LE: 0.1}, 1: {END_ID: 0.7, MI: 0.3}, 2: {MI: 1.0}, 3: {END_ID: 1.0}}
            scores = np.full(len(subwords()), -50.0, dtype=np.float32)
            for piece, chance in chances[min(len(path), 3)].items():
                scores[piece] = np.log(chance)
            return scores

    model = replace(fake_model(Early()), length_penalty=penalty)
    stream = Stream(model, GivenSegmenter([1, 9]), Settings(k=1, beam=2))
    # -0.46 for two pieces and -1.31 for four: the mean prefers the first, divided by the cube the second is better.
    assert written(stream, ["pu"]) == words


def test_ends_by_three_names_are_one() -> None:
    """No single name of the end is as likely as "ka", all of them together are."""

    class ManyNames(Fake):
        def logits(self, state: TargetSeen) -> Logits:
            scores = np.full(len(subwords()), -50.0, dtype=np.float32)
            path = current([row.piece for row in state.rows])
            scores[KA] = np.log(0.4) if path else 0.0
            if path:
                scores[list(CLOSING_IDS)] = np.log(0.2)
            return scores

    stream = Stream(fake_model(ManyNames()), GivenSegmenter([1, 9]), Settings(k=1, beam=2))
    assert written(stream, ["pu"]) == ["ka"]


def test_a_loop_does_not_keep_the_beam_from_an_end_that_it_has_found() -> None:
    """ "ka" goes on for ever and is ever surer of it; ends turn up on the way, and the first was the best."""

    class Loop(Fake):
        def logits(self, state: TargetSeen) -> Logits:
            scores = np.full(len(subwords()), -50.0, dtype=np.float32)
            scores[KA], scores[END_ID] = np.log(0.9), np.log(0.1)
            return scores

    backend = Loop()
    stream = Stream(fake_model(backend), GivenSegmenter([9, 9]), Settings(k=9, beam=2))
    written(stream, ["pu"] * 9)
    assert len(backend.batches) < 40, "four pieces for each of 32 words would be 128"


def test_a_complete_sentence_is_planned_to_its_end_whatever_the_lookahead() -> None:
    class Short(GardenPath):
        """The path ends after three pieces."""

        def logits(self, state: TargetSeen) -> Logits:
            if len(current([row.piece for row in state.rows])) < 3:
                return super().logits(state)
            scores = np.full(len(subwords()), -50.0, dtype=np.float32)
            scores[END_ID] = 0.0
            return scores

    backend = Short()
    stream = Stream(fake_model(backend), GivenSegmenter([1, 9]), Settings(k=1, beam=2, lookahead=1))
    assert written(stream, ["pu"]) == ["le", "no", "no"]
    # One call for the source, one for each piece that is looked at; then the best hypothesis has ended.
    assert len(backend.batches) == 5
