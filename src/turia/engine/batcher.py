"""Many streams at once: the steps that several streams wait for are run as one batch.

Each stream gets the words that it would get alone: steps do not depend on their neighbours in a batch, and a stream's
own steps keep their order. No clock and no thread in here: whoever has several pushes at hand gives them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from turia.engine.backend import (
    Backend,
    DecodeRequest,
    EncodeRequest,
    LookRequest,
    OverlappingBackend,
    Requests,
    SearchRequest,
    Steps,
    run_requests,
)

T = TypeVar("T")
_ORDER = (EncodeRequest, LookRequest, DecodeRequest, SearchRequest)
LEAST_TO_OVERLAP = 8
"""Pieces of work; half of fewer would make small steps."""
LEAST_FOR_FOUR = 16
"""Pieces of work that are done in four parts."""


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

    Where the backend's steps go on by themselves, the work is done in two parts, or in four: while steps of some parts
    are computed, Python prepares the next one of another.
    """
    jobs = [_Job(steps) for steps in work]
    if isinstance(backend, OverlappingBackend) and backend.overlaps and len(jobs) >= LEAST_TO_OVERLAP:
        _run_parts(jobs, 4 if len(jobs) >= LEAST_FOR_FOUR else 2, backend, most)
    else:
        while waiting := [job for job in jobs if job.requests is not None]:
            for group in _groups(waiting, most):
                requests = _requests(group)
                _give(group, requests, run_requests(requests, backend))
    for job in jobs:
        if job.error is not None:
            raise job.error
    return [job.result for job in jobs]


def _groups(waiting: Sequence[_Job[T]], most: int) -> list[Sequence[_Job[T]]]:
    """Jobs of which a step of the backend can do the requests, each group one: all of one kind."""
    kinds = {type(_first(job)) for job in waiting}
    kind = next(kind for kind in _ORDER if kind in kinds)
    jobs = [job for job in waiting if type(_first(job)) is kind]
    return [jobs[together] for together in _cut([len(job.requests or ()) for job in jobs], most)]


def _first(job: _Job[T]) -> EncodeRequest | DecodeRequest:
    assert job.requests
    return job.requests[0]


def _requests(jobs: Sequence[_Job[T]]) -> Requests:
    """What they wait for. Streams of one speaker may ask for one and the same step (turia.engine.shared)."""
    once: dict[int, Any] = {id(request): request for job in jobs for request in job.requests or ()}
    return list(once.values())


def _give(jobs: Sequence[_Job[T]], requests: Requests, results: Sequence[Any]) -> None:
    """Gives the jobs the results of their requests."""
    found = dict(zip(map(id, requests), results, strict=True))
    for job in jobs:
        job.advance([found[id(request)] for request in job.requests or ()])


_Begun = tuple[list[_Job[T]], Requests, Callable[[], Sequence[Any]]]


@dataclass
class _Part(Generic[T]):
    """Some of the jobs, and their steps that have begun: which jobs wait for them, for what, and how to get it."""

    jobs: list[_Job[T]]
    begun: list[_Begun[T]] = field(default_factory=list)


def _run_parts(jobs: Sequence[_Job[T]], count: int, backend: OverlappingBackend, most: int) -> None:
    """Whoever waits for a step of one part works at steps of others, if the backend's threads have not begun them. With
    two parts of one task each, both would be done together, and the threads would wait for Python. Four leave some.
    """
    parts = [_Part(list(jobs[first::count])) for first in range(count)]
    while any(job.requests is not None for job in jobs):
        for part in parts:
            begun, part.begun = part.begun, []
            for group, requests, finish in begun:
                _give(group, requests, finish())
            others = [step for other in parts if other is not part for step in other.begun]
            waiting = [job for job in part.jobs if job.requests is not None and not _joins(job, others)]
            if waiting:
                for chosen in _groups(waiting, most):
                    requests = _requests(chosen)
                    part.begun.append((list(chosen), requests, backend.begin(requests, count)))


def _joins(job: _Job[T], others: Sequence[_Begun[T]]) -> bool:
    """Whether another part has begun the very step that this job waits for; then it waits for it with them."""
    for group, requests, _ in others:
        if job in group or {id(request) for request in job.requests or ()} <= set(map(id, requests)):
            if job not in group:
                group.append(job)
            return True
    return False


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
