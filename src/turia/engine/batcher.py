"""Many streams at once: the steps that several streams wait for are run as one batch.

Each stream gets the words that it would get alone: steps do not depend on their neighbours in a batch, and a stream's
own steps keep their order. No clock and no thread in here: whoever has several pushes at hand gives them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from turia.engine.backend import (
    Backend,
    DecodeRequest,
    EncodeRequest,
    LookRequest,
    Requests,
    SearchRequest,
    Steps,
    run_requests,
)

T = TypeVar("T")
_ORDER = (EncodeRequest, LookRequest, DecodeRequest, SearchRequest)


class _Job(Generic[T]):
    """One piece of work, and what it waits for."""

    def __init__(self, steps: Steps[T]) -> None:
        self.steps = steps
        self.requests: Requests | None = None
        self.result: T
        self.error: Exception | None = None
        self.advance(None)

    def advance(self, result: Sequence[Any] | None) -> None:
        try:
            self.requests = self.steps.send(result)
        except StopIteration as done:
            self.requests, self.result = None, done.value
        except Exception as error:  # whatever it is, the other jobs are to be done all the same
            self.requests, self.error = None, error


def run_together(work: Sequence[Steps[T]], backend: Backend, most: int = 64) -> list[T]:
    """Drives all of `work` to its end, with at most `most` requests in one step of the backend.

    Where one piece of work fails, the others are driven to their end all the same, and then the first failure is
    raised. Where a step of the backend fails, all of them are broken off.

    Encoding goes first: streams that have just read catch up with those that are writing, and then all write together.
    """
    jobs = [_Job(steps) for steps in work]
    while waiting := [job for job in jobs if job.requests is not None]:
        kinds = {type(_first(job)) for job in waiting}
        kind = next(kind for kind in _ORDER if kind in kinds)
        _step([job for job in waiting if type(_first(job)) is kind], backend, most)
    for job in jobs:
        if job.error is not None:
            raise job.error
    return [job.result for job in jobs]


def _first(job: _Job[T]) -> EncodeRequest | DecodeRequest:
    assert job.requests
    return job.requests[0]


def _step(jobs: Sequence[_Job[T]], backend: Backend, most: int) -> None:
    """One step for all `jobs`, whose requests are of one kind."""
    for together in _cut([len(job.requests or ()) for job in jobs], most):
        group = jobs[together]
        requests: list[Any] = [request for job in group for request in job.requests or ()]
        # Streams of one speaker may ask for one and the same step (turia.engine.shared).
        once = {id(request): request for request in requests}
        found = dict(zip(once, run_requests(list(once.values()), backend), strict=True))
        results = [found[id(request)] for request in requests]
        begin = 0
        for job in group:
            count = len(job.requests or ())
            job.advance(results[begin : begin + count])
            begin += count


def _cut(counts: Sequence[int], most: int) -> Iterator[slice]:
    """Jobs with so many requests each, cut into groups of at most `most`. What a job asks for at once, such as the
    hypotheses of a beam, stays together: cut in two, it would be rounded otherwise than alone."""
    begin, total = 0, 0
    for place, count in enumerate(counts):
        if total and total + count > most:
            yield slice(begin, place)
            begin, total = place, 0
        total += count
    yield slice(begin, len(counts))
