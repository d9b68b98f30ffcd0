"""Learned policies in a stream: what their heads are shown, what they decide, and what the engine keeps in any case."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.fakes import Echo, Fake, Recording, fake_model, run, subwords
from tests.engine.test_policies import SPEECH, reads
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ModelError
from turia.policy.act import Act
from turia.policy.base import Head, State, head_values
from turia.policy.chunk import Chunk
from turia.policy.waitk import WaitK
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Write


def stream_of(backend: Fake, policy: Any, heads: dict[str, Head], length: int = 10, **chosen: Any) -> Stream:
    model = fake_model(backend, "unidirectional", heads=heads)
    return Stream(model, GivenSegmenter([length]), Settings(policy=policy, **chosen))


def is_word(*words: str) -> Head:
    """Says yes to a source state, or to the decoder state after a word, if it is one of these."""
    pieces = {float(subwords().encode_word(word)[-1]) for word in words}
    return lambda states, *numbers: float(states[0][0] in pieces)


@pytest.mark.parametrize("beam", [1, 3])
def test_chunks_are_read_to_their_end_and_written_to_theirs(beam: int) -> None:
    # Source chunks end at the 3rd and 6th word, which is known a word later; target chunks at the 2nd and 5th.
    heads = {"chunk-source-1": is_word(SPEECH[3], SPEECH[6]), "chunk-target-1": is_word(SPEECH[1], SPEECH[4])}
    records = run(stream_of(Echo(), Chunk(0.5, 1), heads, beam=beam), SPEECH)
    assert [record.word for record in records if isinstance(record, Write)] == SPEECH
    assert reads(records) == [4, 4, 7, 7, 7, 10, 10, 10, 10, 10]
    assert [r.reason for r in records if isinstance(r, Write)] == ["policy"] * 5 + ["catch-up"] * 5


def test_act_adds_up_what_words_contribute_and_counts_the_last_one_again() -> None:
    records = run(stream_of(Echo(), Act(0.2, 0.1), {"act-0.2": lambda states, *numbers: 0.32}, length=8), SPEECH[:8])
    # Three words come to 0.96. Then the third one counts for the next word as well, and two more are enough.
    assert reads(records) == [3, 5, 7, 8, 8, 8, 8, 8]


def test_a_head_is_shown_the_last_word_read_and_the_row_that_would_write() -> None:
    shown: list[list[float]] = []

    def head(states: tuple[State, ...], /, *numbers: float) -> float:
        # Without how sure the stand-in is.
        shown.append(head_values(states, *numbers).tolist()[:-1])
        return float(len(shown) in (2, 3))

    stream = stream_of(Echo(), Act(0.2, 0.1), {"act-0.2": head}, length=4)
    for word in SPEECH[:3]:
        stream.push(word)
    pieces = [subwords().encode_word(word) for word in SPEECH[:3]]
    ends = [1 + sum(map(len, pieces[: n + 1])) for n in range(3)]
    opening = float(stream.current.writer._prefix[-1])
    assert shown == [
        [pieces[0][-1], ends[0], opening, ends[0], 1],
        [pieces[1][-1], ends[1], opening, ends[1], 2],
        # A word was written, and another: the row after each of them sees what has been read.
        [pieces[1][-1], ends[1], pieces[0][-1], ends[1], 1],
        [pieces[2][-1], ends[2], pieces[1][-1], ends[2], 1],
    ]


def test_a_row_that_writes_is_not_computed_twice() -> None:
    act, wait = Recording(), Recording()
    run(stream_of(act, Act(0.2, 0.1), {"act-0.2": lambda states, *numbers: 1.0}), SPEECH)
    run(stream_of(wait, WaitK(1), {}), SPEECH)
    assert len(act.decoded) == len(wait.decoded)


def test_heads_that_never_write_fall_max_lag_words_behind_and_the_trace_says_so() -> None:
    for policy, heads in (
        (Act(0.2), {"act-0.2": lambda states, *numbers: 0.0}),
        (
            Chunk(0.5, 1),
            {"chunk-source-1": lambda states, *numbers: 0.0, "chunk-target-1": lambda states, *numbers: 0.0},
        ),
    ):
        stream = stream_of(Echo(), policy, heads, max_lag=4)
        assert stream.header()["max_lag"] == 4
        records = run(stream, SPEECH)
        assert reads(records) == [4, 5, 6, 7, 8, 9, 10, 10, 10, 10]
        assert [r.reason for r in records if isinstance(r, Write)] == ["max-lag"] * 6 + ["catch-up"] * 4


def test_what_act_added_up_does_not_count_again_after_a_word_that_max_lag_wrote() -> None:
    # Two words come to 0.8 when the lag is two. The third one alone is not enough, so that the lag decides again.
    stream = stream_of(Echo(), Act(0.2, 0.1), {"act-0.2": lambda states, *numbers: 0.4}, length=6, max_lag=2)
    records = run(stream, SPEECH[:6])
    assert reads(records) == [2, 3, 4, 5, 6, 6]
    assert [r.reason for r in records if isinstance(r, Write)] == ["max-lag"] * 4 + ["catch-up"] * 2


def test_heads_that_always_write_do_not_write_more_than_wait_1() -> None:
    records = run(stream_of(Echo(), Act(0.2), {"act-0.2": lambda states, *numbers: 1.0}), SPEECH)
    assert reads(records) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_a_model_without_the_head_is_refused() -> None:
    expected = r"fake: policy act:lag_cost=0.3,epsilon=0.1 needs the head act-0.3, the model has act-0.2; train it"
    with pytest.raises(ModelError, match=expected):
        stream_of(Echo(), Act(0.3), {"act-0.2": lambda states, *numbers: 0.0})
    with pytest.raises(ModelError, match="needs the head chunk-source-2, the model has none"):
        stream_of(Echo(), Chunk(), {})


def test_a_model_whose_graphs_give_no_states_is_refused() -> None:
    backend = Echo()
    backend.gives_states = False
    with pytest.raises(ModelError, match="policy act looks at states, which this model folder does not give; export"):
        stream_of(backend, Act(0.2), {"act-0.2": lambda states, *numbers: 0.0})
