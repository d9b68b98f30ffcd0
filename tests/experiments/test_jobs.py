"""Many streams at once: they write what they write alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tests.engine.fakes import WORDS, Chaos, Echo, Fake, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.experiments.jobs import Job, translate_all
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Trace


def speeches() -> list[tuple[list[str], list[int], int]]:
    """Words, lengths of sentences, k: of different lengths, so that streams end at different times."""
    return [
        ([WORDS[(7 * i + number) % len(WORDS)] for i in range(5 * (number + 1))], [5] * (number + 1), number + 1)
        for number in range(5)
    ]


def jobs(backend: Fake) -> list[Job]:
    model = fake_model(backend)

    def begin(lengths: Sequence[int], k: int) -> Callable[[], Stream]:
        return lambda: Stream(model, GivenSegmenter(lengths), Settings(k=k))

    return [Job(begin(lengths, k), words) for words, lengths, k in speeches()]


def alone(backend: Fake) -> list[Trace]:
    traces = []
    for job in jobs(backend):
        stream = job.begin()
        records = [record for word in job.words for record in stream.push(word)] + stream.flush()
        traces.append(Trace(stream.header(), tuple(records)))
    return traces


@pytest.mark.parametrize("together", [1, 2, 3, 64])
@pytest.mark.parametrize("kind", [Echo, Chaos])
def test_streams_write_together_what_they_write_alone(together: int, kind: type[Fake]) -> None:
    backend = kind()
    told: list[int] = []
    traces = translate_all(jobs(backend), backend, together, told.append)
    assert traces == alone(kind())
    assert sum(told) == sum(len(words) for words, _, _ in speeches())
    assert max(backend.batches) == min(together, 5)


def test_no_stream_is_begun_after_one_has_failed() -> None:
    backend = Echo()
    given = jobs(backend)
    begun: list[int] = []

    def begin(number: int) -> Stream:
        begun.append(number)
        return given[number].begin()

    words = [["ka"] * 6, given[1].words, *(job.words for job in given[2:])]  # one more than its sentences have
    counted = [Job(partial(begin, number), words[number]) for number in range(len(given))]
    with pytest.raises(InputError, match="more words than the 5"):
        translate_all(counted, backend, 2, lambda _: None)
    assert begun == [0, 1]
