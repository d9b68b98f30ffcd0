"""What each row of the decoder sees, and which rows it does not have yet (docs/architecture.md has an example)."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.fakes import Coin, Echo, SourceSeen, fake_model
from tests.engine.speeches import spoken
from turia.config import Encoder
from turia.engine.backend import run_steps
from turia.engine.rows import SentenceRows
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.policy.table import parse_policy
from turia.segmenter.online import GivenSegmenter

MODEL = fake_model(Echo())


def pushed(words: str, lengths: list[int], recompute: bool = False) -> Stream:
    """A stream of wait-2. Every word is one piece, and the source begins with a symbol."""
    stream = Stream(MODEL, GivenSegmenter(lengths), Settings(k=2, history=10, recompute=recompute))
    for word in words.split():
        stream.push(word)
    return stream


def unfed(rows: SentenceRows) -> tuple[int, list[int], list[int]]:
    """Rows that the decoder has, and ids and limits of those that it lacks to predict the next piece."""
    memory = run_steps(rows.read_all(), MODEL.backend)
    state, ids, limits = rows.unfed(memory, rows.target.ids)
    return 0 if state is None else state.length, ids.tolist(), limits.tolist()


def test_a_row_sees_what_had_been_read_when_it_wrote_and_keeps_that() -> None:
    for words, limits in (("ka", []), ("ka le", [3]), ("ka le mi", [3, 4]), ("ka le mi no", [3, 4, 5])):
        assert pushed(words, [9]).current.writer.row_limits == limits


def test_only_the_newest_row_is_missing_and_it_sees_all() -> None:
    writer = pushed("ka le mi no", [9]).current.writer
    assert unfed(writer) == (3, writer.target.ids[-1:], [5])


def test_rows_of_the_history_see_what_they_saw_and_the_first_own_row_all() -> None:
    writer = pushed("ka le mi no", [2, 9]).current.writer
    # <DOC> ka le <SEP> of the first sentence, which was complete before anything of it was written; then mi no.
    np.testing.assert_array_equal(writer._limits_of_history(6), [4, 4, 4])
    assert writer.row_limits == [6]


def test_the_rows_of_a_sentence_that_has_nothing_written_are_those_of_its_history() -> None:
    writer = pushed("ka le mi", [2, 9]).current.writer
    state, ids, limits = unfed(writer)
    assert (state, len(ids), limits) == (0, 4, [4, 4, 4, 5])


def test_with_recompute_all_rows_are_fed_again_and_see_all() -> None:
    writer = pushed("ka le mi no", [9], recompute=True).current.writer
    state, ids, limits = unfed(writer)
    assert (state, len(ids), limits) == (0, 4, [5, 5, 5, 5])


@pytest.mark.parametrize("recompute", [False, True])
def test_a_restored_stream_has_the_rows_that_it_had(recompute: bool) -> None:
    stream = pushed("ka le mi no pu", [2, 9], recompute=recompute)
    again = Stream.restore(MODEL, GivenSegmenter([2, 9]), stream.state())
    assert unfed(again.current.writer) == unfed(stream.current.writer)


@given(
    speech=spoken(),
    encoder=st.sampled_from(["pbe", "unidirectional"]),
    policy=st.sampled_from(["wait-k:k=1", "wait-k:k=3", "hold-n:n=1", "local-agreement:n=2"]),
    history=st.sampled_from([0, 10]),
)
def test_what_is_encoded_word_by_word_is_the_whole_window(
    speech: tuple[list[str], list[int]], encoder: Encoder, policy: str, history: int
) -> None:
    """Each position sees what it would see if all that has been read were laid out and encoded at once."""
    words, lengths = speech
    settings = Settings(policy=parse_policy(policy), history=history)
    stream = Stream(fake_model(Coin(), encoder), GivenSegmenter(lengths), settings)
    for word in words:
        writer, history_before = stream.current.writer, deepcopy(stream.history)
        stream.push(word)
        if writer is not stream.current.writer:
            # The sentence has become history itself.
            writer.history = history_before
        encoded, _, _ = writer.states()
        if isinstance(encoded, SourceSeen):
            window = writer._source_window(writer.source, writer.closing)
            whole = zip(window.ids.tolist(), writer._reach(window, encoder).tolist(), strict=True)
            assert encoded.columns == tuple(whole)[: encoded.length]
