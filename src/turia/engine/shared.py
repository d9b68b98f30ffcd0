"""Encoder states that several streams of one speaker share: viewers at several latencies read the same words.

Each stream asks for its own source to be encoded (turia.engine.rows). Streams that hold one `SharedSource` ask for the
same step once, and get the very same state: one pass of the encoder, and one buffer in memory. Two steps are the same
if they continue the same state by the same pieces, which see the same columns. So nothing is shared that would differ,
and every stream gets the words that it would get alone.

Steps are the same for all latencies if `Settings.first_block` is: a partial bidirectional encoder has the words that a
sentence begins with see each other, as many as are waited for. With a first block of its own, each latency would have
states of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from turia.engine.backend import EncodeRequest, EncoderState, Steps
from turia.text.layout import Ints

MOST_STATES = 48
"""Steps that are remembered: those of a sentence or two. States of one sentence share a buffer."""

_Step = tuple[int, bytes, bytes]


class SharedSource:
    """What one encoder has made of one speaker's words."""

    def __init__(self) -> None:
        self._steps: OrderedDict[_Step, tuple[EncodeRequest, EncoderState | None]] = OrderedDict()
        """The request holds on to the state that it continues, so that no other one gets its number."""

    def __deepcopy__(self, memo: object) -> SharedSource:
        """A copy of a stream reads the same words."""
        return self

    def encode(self, state: EncoderState | None, ids: Ints, reach: Ints) -> Steps[EncoderState]:
        """The state after these positions: known, or asked for."""
        step = (id(state), ids.tobytes(), reach.tobytes())
        known: Any
        request, known = self._steps.pop(step, (EncodeRequest(state, ids, reach), None))
        self._steps[step] = request, known
        if known is None:
            # While it is computed, another stream may ask for it: with the same request, which a batch runs once.
            (known,) = yield [request]
            self._steps[step] = request, known
        while len(self._steps) > MOST_STATES:
            self._steps.popitem(last=False)
        encoded: EncoderState = known
        return encoded

    @property
    def steps(self) -> int:
        """How many it remembers."""
        return len(self._steps)


def shared_stops(word_ends: Ints, reach: Ints, start: int) -> list[int]:
    """Where the calls end that encode a window from `start` on, if they are to be the same at every latency: after its
    first block, then word by word. `word_ends` are the positions after the block and after each word behind it."""
    end = len(reach)
    # The closing symbol belongs to the first block of a sentence that is no longer than it.
    stops = [int(stop) for stop in np.unique(word_ends) if start < stop < end and reach[start:stop].max() <= stop]
    return [*stops, end]
