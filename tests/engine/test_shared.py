"""Streams of one speaker that share what the encoder computes."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import Chaos, Recording, fake_model, run
from tests.engine.speeches import spoken
from turia.engine.backend import EncodeRequest, run_steps
from turia.engine.batcher import run_together
from turia.engine.settings import Settings
from turia.engine.shared import MOST_STATES, SharedSource, shared_stops
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record

POLICIES = st.sampled_from(["wait-k:k=1", "wait-k:k=2", "wait-k:k=5", "hold-n:n=2", "local-agreement:n=2", "whole"])


@settings(deadline=None, max_examples=15)
@given(
    speech=spoken(),
    policies=st.lists(POLICIES, min_size=2, max_size=4),
    block=st.sampled_from([None, 1, 2, 4]),
    encoder=st.sampled_from(["pbe", "unidirectional", "bidirectional"]),
    at_once=st.booleans(),
)
def test_a_stream_that_shares_gets_the_words_that_it_gets_alone(
    speech: tuple[list[str], list[int]], policies: list[str], block: int | None, encoder: str, at_once: bool
) -> None:
    words, lengths = speech

    def begin(backend: Chaos, policy: str) -> Stream:
        chosen = Settings(policy=policy, first_block=block, history=10, beam=1 + len(policy) % 2)
        return Stream(fake_model(backend, encoder), GivenSegmenter(lengths), chosen)

    alone = [run(begin(Chaos(), policy), words) for policy in policies]
    backend, source = Chaos(), SharedSource()
    streams = [begin(backend, policy) for policy in policies]
    for stream in streams:
        stream.share(source)
    found: list[list[Record]] = [[] for _ in streams]
    for word in words:
        if at_once:
            results = run_together([stream.push_steps(word) for stream in streams], backend)
        else:
            results = [stream.push(word) for stream in streams]
        for own, records in zip(found, results, strict=True):
            own += records
    assert [own + stream.flush() for own, stream in zip(found, streams, strict=True)] == alone


@settings(deadline=None, max_examples=10)
@given(speech=spoken(), policy=POLICIES, block=st.sampled_from([1, 2, 4]), place=st.integers(0, 30))
def test_a_stream_with_a_first_block_goes_on_after_a_restart(
    speech: tuple[list[str], list[int]], policy: str, block: int, place: int
) -> None:
    words, lengths = speech
    chosen = Settings(policy=policy, first_block=block, history=10)
    unbroken = run(Stream(fake_model(Chaos()), GivenSegmenter(lengths), chosen), words)
    stream = Stream(fake_model(Chaos()), GivenSegmenter(lengths), chosen)
    records = [record for word in words[:place] for record in stream.push(word)]
    state = json.loads(json.dumps(stream.state()))
    again = Stream.restore(fake_model(Chaos()), GivenSegmenter(lengths), state)
    assert again.settings.first_block == block
    records += [record for word in words[place:] for record in again.push(word)]
    assert records + again.flush() == unbroken


def test_two_latencies_with_one_first_block_encode_the_source_once() -> None:
    words = ["ka", "le", "mi", "no", "pu", "ra", "ka", "mi"]

    def encoded(ks: tuple[int, ...], first_block: int | None) -> int:
        backend = Recording()
        streams = [Stream(fake_model(backend), GivenSegmenter([8]), Settings(k=k, first_block=first_block)) for k in ks]
        source = SharedSource()
        for stream in streams:
            stream.share(source)
        for word in words:
            run_together([stream.push_steps(word) for stream in streams], backend)
        return len(backend.encoded)

    # The block of two words, then six words, then the closing symbol.
    assert encoded((2,), 2) == 8
    assert encoded((2, 4, 6), 2) == 8
    assert encoded((2, 4, 6), None) > 12


def test_a_first_block_of_the_stream_s_own_size_changes_nothing() -> None:
    words = ["ka", "le", "mi", "no", "pu", "ra", "ka", "mi"]
    plain, given_block = (
        run(Stream(fake_model(Chaos()), GivenSegmenter([5, 3]), Settings(k=3, first_block=block)), words)
        for block in (None, 3)
    )
    assert plain == given_block


def test_only_the_newest_steps_are_remembered_and_equal_ones_are_one() -> None:
    source, backend = SharedSource(), Recording()
    one = np.ones(1, dtype=np.int64)
    for piece in range(2 * MOST_STATES):
        run_steps(source.encode(None, one * piece, one), backend)
    assert source.steps == MOST_STATES
    last = run_steps(source.encode(None, one * (2 * MOST_STATES - 1), one), backend)
    again = run_steps(source.encode(None, one * (2 * MOST_STATES - 1), one), backend)
    assert last is again
    assert len(backend.encoded) == 2 * MOST_STATES
    # Another state before it, or another reach: another step.
    run_steps(source.encode(last, one, one), backend)
    run_steps(source.encode(last, one, one + 1), backend)
    assert len(backend.encoded) == 2 * MOST_STATES + 2


def test_a_step_that_two_streams_wait_for_is_run_once() -> None:
    source, backend = SharedSource(), Recording()
    one = np.ones(1, dtype=np.int64)
    first, second = run_together([source.encode(None, one, one) for _ in range(2)], backend)
    assert first is second
    assert [type(request) for request in backend.encoded] == [EncodeRequest]


def test_stops_are_the_block_then_each_word_then_the_end() -> None:
    ends = np.array([4, 5, 5, 7])
    assert shared_stops(ends, np.array([4, 4, 4, 4, 5, 6, 7, 8]), 0) == [4, 5, 7, 8]
    assert shared_stops(ends, np.array([4, 4, 4, 4, 5, 6, 7, 8]), 5) == [7, 8]
    assert shared_stops(np.array([3]), np.array([4, 4, 4, 4]), 0) == [4]
