"""What the engine asks of a model: requests, states, and a backend that runs them. Nothing here knows ONNX Runtime.

Letters: P columns kept, R new rows, S source positions, V vocabulary, L decoder layers, H heads, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from turia.text.choice import Flags, Forbidden
from turia.text.layout import Ints

Logits = npt.NDArray[np.float32]
"""[V]"""
States = npt.NDArray[np.float32]
"""[R, D] what the last layer of an encoder or a decoder makes of its rows."""
T = TypeVar("T")


class EncoderState(Protocol):
    """What is kept of the source positions of a window."""

    @property
    def length(self) -> int: ...

    @property
    def states(self) -> States | None:
        """Of the positions of the call that gave it; None if the backend does not give them."""
        ...


class DecoderState(Protocol):
    """What is kept of the target rows of a window."""

    @property
    def length(self) -> int: ...

    @property
    def states(self) -> States | None:
        """Of the last rows, at least of the last one, of the call that gave it; None if the backend gives none."""
        ...

    def truncated(self, length: int) -> DecoderState:
        """The state of the first `length` rows."""
        ...


@dataclass(frozen=True)
class EncodeRequest:
    """New source positions of a window."""

    state: EncoderState | None
    """None begins a window."""
    ids: Ints
    """[R]"""
    reach: Ints
    """[R] columns, of the P + R, that each new position sees."""


@dataclass(frozen=True)
class DecodeRequest:
    """New target rows of a window."""

    state: DecoderState | None
    """None begins a window."""
    memory: EncoderState
    ids: Ints
    """[R]"""
    limit: Ints
    """[R] source columns that each row sees."""


@dataclass(frozen=True)
class LookRequest(DecodeRequest):
    """The same, of which all new rows are looked at. It costs more, so only policies that look ask for it."""


@dataclass(frozen=True, eq=False)
class SearchRules:
    """What a beam search must know of the target vocabulary."""

    forbidden: Forbidden
    borders: Flags
    """[V] pieces that end a word; with the space first, those that begin one."""
    space_first: bool
    length_penalty: float


class DraftRules(NamedTuple):
    """Of a search for a draft: wanted is the hypothesis that is the best one when it has so many words, or an end."""

    words: int
    begun: int
    """Pieces of a word that is begun where the search begins."""
    before: float
    """Log-probability of what it continues."""


@dataclass(frozen=True)
class SearchRequest(DecodeRequest):
    """A beam search from new target rows on: what `turia.engine.beam` does with many requests, as one. It is for
    backends that have `search`, as `Model.searches` says."""

    rules: SearchRules
    width: int
    most: int
    """Pieces to look ahead; further only until the best hypothesis has a whole word."""
    complete: bool
    """Whether the sentence may end; if not, one word is wanted: the one that most of the probability lies on."""
    longest: int
    """Pieces of a word; a longer one is ended by force."""
    draft: DraftRules | None = None
    """Only where words end with a space: a word that is begun must show when it ends."""


class Searched(NamedTuple):
    """What a search request gives."""

    state: DecoderState
    """With the new rows, and nothing of the search."""
    pieces: list[int]
    """Of the best hypothesis, or as many of them as are wanted: whole words, and perhaps an end."""
    scores: list[float]
    """Of a draft: log-probability of each piece."""
    margins: list[float]
    """Of a draft: how much less likely each piece was than the likeliest in its place."""


class Looks(NamedTuple):
    """What a look request gives."""

    state: DecoderState
    logits: npt.NDArray[np.float32]
    """[R, V] of all new rows."""
    attention: npt.NDArray[np.float32]
    """[L, H, R, S] cross-attention of the new rows: by layer and head, on each source position."""


class Backend(Protocol):
    """Runs requests: ONNX Runtime, torch, or a test's fake. States are values: a request never changes one."""

    can_look: bool
    """Whether it takes look requests."""
    gives_states: bool
    """Whether its states have `states`, which learned policies look at."""

    def encode(self, requests: Sequence[EncodeRequest]) -> Sequence[EncoderState]: ...

    def decode(self, requests: Sequence[DecodeRequest]) -> Sequence[tuple[DecoderState, Logits]]:
        """The state with the new rows, and the logits of the last row."""
        ...

    def look(self, requests: Sequence[LookRequest]) -> Sequence[Looks]: ...


Requests = list[EncodeRequest] | list[DecodeRequest] | list[LookRequest] | list[SearchRequest]
Steps = Generator[Requests, Any, T]
"""Work that asks the model for steps and is sent their results: whoever drives it may run many at once."""


@runtime_checkable
class OverlappingBackend(Protocol):
    """One whose steps may go on, in threads of its own, while Python does something else."""

    @property
    def overlaps(self) -> bool:
        """Whether they do: it has such threads."""
        ...

    def begin(self, requests: Requests, at_once: int) -> Callable[[], Sequence[Any]]:
        """Begins a step of these requests, which are of one kind, one of so many that run at the same time; gives what
        waits for its results."""
        ...


def run_steps(steps: Steps[T], backend: Backend) -> T:
    """Drives one piece of work to its end, a step at a time."""
    result: Any = None
    while True:
        try:
            requests = steps.send(result)
        except StopIteration as done:
            value: T = done.value
            return value
        result = run_requests(requests, backend)


def run_requests(requests: Requests, backend: Backend) -> Sequence[Any]:
    """One step of the backend: all requests are of one kind."""
    results: Sequence[Any] = getattr(backend, call_for(requests))(requests)
    return results


_CALLS = {EncodeRequest: "encode", DecodeRequest: "decode", LookRequest: "look", SearchRequest: "search"}


def call_for(requests: Requests) -> str:
    """The method of a backend that takes these requests, which are of one kind."""
    return _CALLS[type(requests[0])]
