"""What a runtime keeps between calls: the states of the source and of the target, and which of them are one beam.

Letters: R new rows, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from turia.engine.backend import DecodeRequest, DecoderState, EncoderState
from turia.runtime.rows import Columns, Floats
from turia.runtime.shape import Shape
from turia.text.layout import Ints


@dataclass(frozen=True, eq=False)
class SourceState:
    """The EncoderState of this runtime."""

    length: int
    kept: Columns
    """For more source positions."""
    memory: Columns
    """For the decoder's cross-attention."""
    states: Floats | None = None
    """[R, D] of the positions of the last call."""


@dataclass(frozen=True, eq=False)
class TargetState:
    """The DecoderState of this runtime."""

    length: int
    kept: Columns
    """For more target rows."""
    states: Floats | None = None
    """[1, D] of the last row of the last call, or [R, D] of all of its rows if it was a look."""
    own: Ints | None = None
    """[length] of a hypothesis: which columns of `kept` are its own. None: the first ones."""
    beam_end: int = 0
    """Of a hypothesis: where the columns of its beam end, and where those of the next step begin."""

    def truncated(self, length: int) -> TargetState:
        """The state of the first `length` rows."""
        if length == self.length:
            return self
        if self.own is None:
            return TargetState(length, self.kept)
        return TargetState(length, self.kept, own=self.own[:length], beam_end=self.beam_end)

    @property
    def end(self) -> int:
        """Where new columns begin. The same calls write to the same places, and so are rounded alike."""
        return self.length if self.own is None else self.beam_end

    def columns(self) -> Ints:
        """[length]"""
        return np.arange(self.length) if self.own is None else self.own


def nothing(shape: Shape, layers: int, zeros: bool = True) -> Columns:
    """The columns of a window that has not begun: one free column, because some releases cannot multiply with none."""
    # It counts as filled, so that it is never written to.
    array = np.zeros((2 * layers, shape.heads, 1, shape.head_size), dtype=np.float32)
    return Columns(array, filled=1, zeros=zeros)


def beams(requests: Sequence[DecodeRequest]) -> Iterator[Sequence[DecodeRequest]]:
    """The requests in their order: those together that are hypotheses of one beam, all others alone."""
    begin = 0
    for end in range(1, len(requests) + 1):
        if end == len(requests) or not _are_one_beam(requests[begin], requests[end]):
            yield requests[begin:end]
            begin = end


def _are_one_beam(one: DecodeRequest, other: DecodeRequest) -> bool:
    states = one.state, other.state
    return (
        len(one.ids) == len(other.ids) == 1
        and isinstance(states[0], TargetState)
        and isinstance(states[1], TargetState)
        and states[0].kept is states[1].kept
        and states[0].end == states[1].end
        and one.memory is other.memory
    )


def is_hypothesis(request: DecodeRequest) -> bool:
    return isinstance(request.state, TargetState) and request.state.own is not None and len(request.ids) == 1


@dataclass(frozen=True)
class Beginnings:
    """The columns of windows that have not begun, and so the state of a request that has none."""

    encoding: Columns
    decoding: Columns

    def encoded(self, state: EncoderState | None) -> SourceState:
        if state is None:
            return SourceState(0, self.encoding, self.decoding)
        assert isinstance(state, SourceState), "a state of another backend"
        return state

    def decoded(self, state: DecoderState | None) -> TargetState:
        if state is None:
            return TargetState(0, self.decoding)
        assert isinstance(state, TargetState), "a state of another backend"
        return state

    def in_order(self, state: DecoderState | None) -> TargetState:
        """The state with its columns one after the other: of a hypothesis, a copy."""
        found = self.decoded(state)
        return found if found.own is None else TargetState(found.length, found.kept.gathered(found.own), found.states)
