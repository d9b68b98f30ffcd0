"""History: which past sentences a window has."""

from __future__ import annotations

import pytest

from tests.engine.fakes import WORDS, Recording, fake_model, run, stream_of, subwords
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.window import History, PartialSentence
from turia.segmenter.online import GivenSegmenter
from turia.text.symbols import CONT_ID, DOC_ID, SEP_ID


@pytest.mark.parametrize(("history", "pairs"), [(0, [0, 0, 0]), (1, [0, 0, 0]), (3, [0, 1, 1]), (4, [0, 1, 2])])
def test_history_has_the_words_that_were_chosen(history: int, pairs: list[int]) -> None:
    backend = Recording()
    run(stream_of(backend, [2, 2, 2], k=1, history=history), ["ka", "le", "mi", "no", "pu", "ra"])
    windows = [request.ids.tolist() for request in backend.encoded if request.state is None]
    assert [ids.count(SEP_ID) for ids in windows] == pairs


def test_history_leaves_half_of_the_positions_to_the_sentence() -> None:
    """Six sentences of ten words are within 60 words of history, but their 67 positions are not within half of 128."""
    backend = Recording()
    stream = Stream(fake_model(backend, max_positions=128), GivenSegmenter([10] * 8), Settings(k=1))
    run(stream, [WORDS[number % len(WORDS)] for number in range(80)])
    windows = [request.ids.tolist() for request in backend.encoded if request.state is None]
    assert [len(ids) for ids in windows] == [1 + 11 * min(before, 5) + 1 for before in range(8)]
    assert [ids[0] for ids in windows] == [DOC_ID] * 6 + [CONT_ID] * 2


def test_a_longer_history_begins_with_the_sentence_just_spoken() -> None:
    backend = Recording()
    stream = stream_of(backend, [2, 2], k=1, history=0)
    stream.push("ka")
    stream.change(history=60)
    stream.push("le mi")
    ka, le, mi = (subwords().encode_word(word)[0] for word in ("ka", "le", "mi"))
    assert backend.encoded[-1].ids.tolist() == [DOC_ID, ka, le, SEP_ID, mi]


def test_a_history_is_read_from_what_was_written_and_from_nothing_else() -> None:
    history = History()
    history.add(PartialSentence([9, 10, 11], [2, 1]), PartialSentence([12], [1]), [2])
    written = history.to_json()
    assert History.from_json(written) == history
    for key, value in (
        ("reads", [[3]]),
        ("reads", []),
        ("from_start", 1),
        ("pairs", [[{"ids": [], "pieces": []}] * 2]),
    ):
        with pytest.raises(ValueError, match="expected"):
            History.from_json(written | {key: value})


def test_dropped_or_skipped_the_first_sentence_leaves_no_beginning() -> None:
    skipped, dropped = History(), History()
    skipped.skip()
    dropped.add(PartialSentence([9], [1]), PartialSentence([9], [1]), [1])
    dropped.drop()
    for history in (skipped, dropped):
        assert (history.source, history.target, history.from_start) == ([], [], False)
