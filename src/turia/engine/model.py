"""A loaded translation model: what the engine needs to know of it, and nothing of where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from turia.config import Anchor, Encoder
from turia.runtime.session import DecodeRequest, DecoderState, EncodeRequest, EncoderState
from turia.text.choice import Forbidden, forbidden_pieces
from turia.text.subwords import Subwords

Logits = npt.NDArray[np.float32]
T = TypeVar("T")
Requests = list[EncodeRequest] | list[DecodeRequest]
Steps = Generator[Requests, Any, T]
"""Work that asks the model for steps and is sent their results: whoever drives it may run many at once."""


class Backend(Protocol):
    """Runs steps: ONNX Runtime, or a test's fake."""

    def encode(self, requests: Sequence[EncodeRequest]) -> Sequence[EncoderState]: ...

    def decode(self, requests: Sequence[DecodeRequest]) -> Sequence[tuple[DecoderState, Logits]]: ...


@dataclass(frozen=True)
class Model:
    """A translation model and its properties."""

    name: str
    backend: Backend
    source_subwords: Subwords
    target_subwords: Subwords
    encoder: Encoder
    anchor: Anchor
    gamma: float
    history: int
    max_positions: int
    source_opening: bool = True
    """Whether a window of the source begins with a symbol."""
    normalises: bool = True
    """Whether it was trained on words as a recogniser says them; else it gets them as they are."""
    languages: tuple[str, str] = ("", "")
    """Codes of source and target. Not to be read out of the name: `pt-BR-en` has one hyphen too many."""
    files: str = ""
    """The beginning of the sum of its folder: tells models of one name apart."""
    beam: int = 1
    """Hypotheses of the search that streams have unless told otherwise."""

    @cached_property
    def forbidden(self) -> Forbidden:
        """Which target pieces may not come where."""
        return forbidden_pieces(self.target_subwords)

    @cached_property
    def pieces(self) -> str:
        """Tells vocabularies apart: the numbers of one mean nothing in another."""
        both = self.source_subwords.model + self.target_subwords.model
        return hashlib.sha256(both).hexdigest()[:16]


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
    if isinstance(requests[0], EncodeRequest):
        return backend.encode(requests)
    return backend.decode(requests)
