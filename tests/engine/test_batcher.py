"""The steps of many streams as one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import Chaos, Echo, Fake, fake_model, run, stream_of
from tests.engine.speeches import spoken
from turia.engine.backend import EncodeRequest, Requests, Steps, run_requests
from turia.engine.batcher import LEAST_FOR_FOUR, LEAST_TO_OVERLAP, run_together
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(
    speeches=st.lists(spoken(), min_size=2, max_size=6),
    beams=st.lists(st.integers(1, 3), min_size=6, max_size=6),
    encoder=st.sampled_from(["pbe", "unidirectional", "bidirectional"]),
)
def test_streams_run_together_get_the_words_they_get_alone(
    speeches: list[tuple[list[str], list[int]]], beams: list[int], encoder: str
) -> None:
    """A beam asks for several steps at once: those of one stream stay together, or are parted, without harm."""

    def begin(backend: Fake, number: int) -> Stream:
        settings = Settings(k=2, beam=beams[number], lookahead=3)
        return Stream(fake_model(backend, encoder), GivenSegmenter(speeches[number][1]), settings)

    alone = [run(begin(Chaos(), number), words) for number, (words, _) in enumerate(speeches)]
    backend = Chaos()
    streams = [begin(backend, number) for number in range(len(speeches))]
    together: list[list[Record]] = [[] for _ in speeches]
    for turn in range(max(len(words) for words, _ in speeches)):
        active = [i for i, (words, _) in enumerate(speeches) if turn < len(words)]
        results = run_together([streams[i].push_steps(speeches[i][0][turn]) for i in active], backend)
        for i, records in zip(active, results, strict=True):
            together[i] += records
    for i, records in enumerate(run_together([stream.flush_steps() for stream in streams], backend)):
        together[i] += records
    assert together == alone


class Overlapping(Chaos):
    """Its steps go on by themselves: their results are there when they are asked for, and not before."""

    overlaps = True

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Requests] = []
        self.most_at_once = self._at_once = 0

    def begin(self, requests: Requests, at_once: int) -> Callable[[], Sequence[Any]]:
        self.begun.append(requests)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)

        def finish() -> Sequence[Any]:
            self._at_once -= 1
            return run_requests(requests, self)

        return finish


@pytest.mark.parametrize(("streams", "parts"), [(LEAST_TO_OVERLAP + 1, 2), (LEAST_FOR_FOUR + 1, 4)])
def test_steps_of_several_parts_overlap_and_streams_get_the_words_they_get_alone(streams: int, parts: int) -> None:
    words = ["ka", "le", "mi", "no", "pu"]
    speeches = [words[number % 3 :] for number in range(streams)]
    alone = [run(stream_of(Chaos(), [len(one)], k=2), one) for one in speeches]
    backend = Overlapping()

    def work(said: list[str]) -> Steps[list[Record]]:
        stream, records = stream_of(backend, [len(said)], k=2), []
        for word in said:
            records += yield from stream.push_steps(word)
        return records + (yield from stream.flush_steps())

    assert run_together([work(one) for one in speeches], backend) == alone
    assert backend.most_at_once == parts


@pytest.mark.parametrize("streams", [LEAST_TO_OVERLAP, LEAST_FOR_FOUR])
def test_a_step_that_all_parts_ask_for_is_run_once(streams: int) -> None:
    backend, request = Overlapping(), EncodeRequest(None, np.array([7]), np.array([1]))

    def work(number: int) -> Steps[object]:
        (state,) = yield [request]
        yield [EncodeRequest(state, np.array([8 + number]), np.array([2]))]
        return state

    states = run_together([work(number) for number in range(streams)], backend)
    assert len(set(map(id, states))) == 1
    assert sum(one is request for requests in backend.begun for one in requests) == 1


def test_a_stream_that_fails_among_others_does_them_no_harm() -> None:
    backend = Echo()
    alone = [run(stream_of(Echo(), [3], k=2), ["ka", "le", "mi"]) for _ in range(2)]
    good = [stream_of(backend, [3], k=2) for _ in range(2)]
    ended = stream_of(backend, [3], k=2)
    ended.flush()

    def failing() -> Steps[list[Record]]:
        yield from stream_of(backend, [3], k=1).push_steps("ka")
        raise RuntimeError("in the middle")

    before = [stream.push("ka") for stream in good]
    work = [good[0].push_steps("le mi"), failing(), ended.push_steps("ka"), good[1].push_steps("le")]
    with pytest.raises(RuntimeError, match="in the middle"):
        run_together(work, backend)
    assert (good[0].written, good[1].written) == (3, 1)
    assert before == [[], []]
    assert [good[0].flush()[-1:], good[1].push("mi") + good[1].flush()] == [alone[0][-1:], alone[1][1:]]


def test_steps_of_many_streams_are_batched() -> None:
    backend = Echo()
    streams = [stream_of(backend, [4], k=1) for _ in range(8)]
    backend.batches.clear()
    run_together([stream.push_steps("ka") for stream in streams], backend)
    assert backend.batches == [8, 8]
    backend.batches.clear()
    run_together([stream.push_steps("le") for stream in streams], backend, most=3)
    assert backend.batches == [3, 3, 2, 3, 3, 2]
