"""The network that reads a stream once, in numpy. No torch, no ONNX.

    h_t = GRU(embedding of word t, h_{t-1})        one state for each word, from left to right
    p_t = output_w(h_t, ..., h_{t+w})              a sentence ends at word t, w words after it being known

So small a network takes less time in numpy than it takes to call ONNX Runtime. `segmenter.weights` has its numbers one
after the other, the lowest byte first, in the order of `_shapes`. The embedding, by far the largest part, is int8 with
a scale for each row; everything else is float32.

Letters: V ids, E embedding, H hidden, F feed-forward.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.system.files import check_plain
from turia.text.vocabulary import BOUNDARY

Floats = npt.NDArray[np.float32]
_EXTREME = 80.0
"""The sigmoid of what is beyond this is 0 or 1, and the exponential may be no float32."""
_LARGEST = 1e6
"""Of a weight. Up to here no sum of a network of any size we take is beyond float32."""


@dataclass(frozen=True)
class StreamShape:
    """Sizes of the network, as `segmenter.json` has them."""

    embedding: int
    hidden: int
    feed_forward: int
    longest: int
    """Future words of the widest window; there is an output for each number of them from 0."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if type(value) is not int or not (0 if name == "longest" else 1) <= value <= 4096:
                raise ModelError(f"{name} is {value!r:.80}, expected a whole number up to 4096")


def _shapes(shape: StreamShape, ids: int) -> dict[str, tuple[int, ...]]:
    gates, hidden, inner = 3 * shape.hidden, shape.hidden, shape.feed_forward
    shapes: dict[str, tuple[int, ...]] = {
        "embedding": (ids, shape.embedding),
        "scale": (ids,),
        "input": (gates, shape.embedding),
        "input_bias": (gates,),
        "state": (gates, hidden),
        "state_bias": (gates,),
    }
    for window in range(shape.longest + 1):
        shapes |= {
            f"first{window}": (inner, (window + 1) * hidden),
            f"first_bias{window}": (inner,),
            f"second{window}": (inner,),
            f"second_bias{window}": (1,),
        }
    return shapes


def quantise_rows(table: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], Floats]:
    """int8 [V, E] and scales float32 [V, 1] with table ≈ int8 · scale."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / 127
    return np.round(table / scale).astype(np.int8), scale.astype(np.float32)


class StreamNetwork:
    """The weights, shared by all streams."""

    def __init__(self, shape: StreamShape, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self.shape, self._weights = shape, dict(weights)
        self._embedding, self._scale = weights["embedding"], weights["scale"]
        self._input, self._input_bias = weights["input"], weights["input_bias"]
        self._state, self._state_bias = weights["state"], weights["state_bias"]
        self._outputs = [
            tuple(weights[f"{name}{window}"] for name in ("first", "first_bias", "second", "second_bias"))
            for window in range(shape.longest + 1)
        ]
        self.start = self.read(np.zeros(shape.hidden, dtype=np.float32), BOUNDARY)
        """The state before the first word of a stream, and after a pause."""
        self.fingerprint = f"{zlib.crc32(self._state.astype('<f4').tobytes()):08x}"
        """Of the weights that a state was made with: to another network it says nothing."""

    def read(self, state: Floats, word: int) -> Floats:
        """The state after one more word; gates in torch's order: reset, update, new."""
        hidden = self.shape.hidden
        embedded = self._embedding[word] * self._scale[word]
        # Row by row: a product of matrices would be shared out among all cores, which are busy with the translator.
        by_word = np.vecdot(self._input, embedded) + self._input_bias
        by_state = np.vecdot(self._state, state) + self._state_bias
        gates = _sigmoid(by_word[: 2 * hidden] + by_state[: 2 * hidden])
        reset, update = gates[:hidden], gates[hidden:]
        new = np.tanh(by_word[2 * hidden :] + reset * by_state[2 * hidden :])
        result: Floats = new + update * (state - new)
        return result

    def probability(self, states: Sequence[Floats]) -> float:
        """Of a sentence end at the first of `states`, the others being those of the words after it."""
        first, first_bias, second, second_bias = self._outputs[len(states) - 1]
        inner = np.maximum(np.vecdot(first, np.concatenate(states)) + first_bias, 0.0)
        total = float(inner.dot(second)) + float(second_bias[0])
        return 1.0 / (1.0 + math.exp(-max(-_EXTREME, min(_EXTREME, total))))

    def save(self, path: Path) -> None:
        ordered = (self._weights[name] for name in _shapes(self.shape, len(self._embedding)))
        path.write_bytes(b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in ordered))

    @classmethod
    def load(cls, path: Path, shape: StreamShape, ids: int) -> StreamNetwork:
        """The network of a file, for so many ids."""
        shapes = _shapes(shape, ids)
        kinds = {name: np.dtype("i1" if name == "embedding" else "<f4") for name in shapes}
        expected = sum(math.prod(size) * kinds[name].itemsize for name, size in shapes.items())
        try:
            check_plain(path, expected)
            found = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        if len(found) != expected:
            raise ModelError(f"{path}: {len(found):,} bytes, expected {expected:,}")
        weights, offset = {}, 0
        for name, size in shapes.items():
            count = math.prod(size)
            numbers = np.frombuffer(found, kinds[name], count, offset).reshape(size)
            offset += numbers.nbytes
            if name != "embedding":
                numbers = numbers.astype(np.float32)
                if not (np.abs(numbers) <= _LARGEST).all():
                    raise ModelError(f"{path}: has values that are no numbers, or far too large")
            weights[name] = numbers
        return cls(shape, weights)


def _sigmoid(values: Floats) -> Floats:
    result: Floats = np.reciprocal(1 + np.exp(-np.clip(values, -_EXTREME, _EXTREME)), dtype=np.float32)
    return result
