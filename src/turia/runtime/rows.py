"""What a graph is fed with: the new rows of a stream, what they see, and the buffers that hold what was kept.

Hypotheses of one beam share a buffer. Each keeps its own columns of it and the columns that it has in common with the
others, so all of them are rows of one stream, and their masks are those of a tree.

Letters: P columns kept, R new rows, C columns of a buffer (C - P are free), H heads, E head size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.text.layout import Ints

Floats = npt.NDArray[np.float32]
ROOM = 64
"""Buffers grow by so many columns. Free columns cost a little in each attention, growing costs a copy."""
MOST_SPARE = 16 << 20
"""Bytes of buffers of one shape that wait to be used again."""
_SEEN, _HIDDEN = np.float32(0), np.float32(-np.inf)


class _Spares:
    """Buffers that nobody needs any more. Memory that the system gives anew has to be cleared by it page by page, which
    took 7 % of the time of 16 streams."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, ...], list[Floats]] = {}

    def give(self, array: Floats) -> None:
        spares = self._arrays.setdefault(array.shape, [])
        if len(spares) * array.nbytes < MOST_SPARE:
            spares.append(array)

    def take(self, shape: tuple[int, ...]) -> Floats:
        """Of this shape, with whatever is in it."""
        try:
            return self._arrays[shape].pop()
        except LookupError:
            return np.empty(shape, dtype=np.float32)


class Columns:
    """Keys and values of all layers, shared by the states of one sequence. What is written is never changed."""

    spares = _Spares()

    def __init__(self, array: Floats, filled: int, zeros: bool = True) -> None:
        """`array` [A, H, C, E], of which the first `filled` columns are in use; free ones are `zeros`, as graphs read
        them too, or anything."""
        self._array, self._filled, self._zeros = array, filled, zeros
        self.room: int = array.shape[2]
        """C"""

    @cached_property
    def tensors(self) -> list[Floats]:
        """A views [1, H, C, E], as graphs take them."""
        return [part[None] for part in self._array]

    @cached_property
    def address(self) -> int:
        """Where the array lies, for native code."""
        return int(self._array.ctypes.data)

    def extended(self, length: int, new: Floats) -> Columns:
        """The first `length` columns and `new` [A, H, R, E] after them: here if that is still free, else in a copy."""
        columns = self.claimed(length, new.shape[2])
        columns._array[:, :, length : length + new.shape[2]] = new
        return columns

    def claimed(self, length: int, count: int) -> Columns:
        """The first `length` columns and `count` after them for the caller to write: here if those are still free, else
        in a copy."""
        end = length + count
        columns = self if self._filled == length and end <= self.room else self._copy(length, end)
        columns._filled = end
        return columns

    def gathered(self, own: Ints) -> Columns:
        """A copy of these columns, in this order."""
        columns = self.zeros(len(own)) if self._zeros else self._blank(len(own))
        columns._array[:, :, : len(own)] = self._array[:, :, own]
        return columns

    def zeros(self, length: int) -> Columns:
        """As many layers and heads, `length` columns of zeros."""
        tensors, heads, _, size = self._array.shape
        return Columns(np.zeros((tensors, heads, -(-length // ROOM) * ROOM, size), dtype=np.float32), length)

    def _copy(self, length: int, end: int) -> Columns:
        # Zeros: a free column has no weight in an attention, but no weight times not-a-number is not-a-number.
        columns = self.zeros(end) if self._zeros else self._blank(end)
        columns._array[:, :, :length] = self._array[:, :, :length]
        return columns

    def _blank(self, length: int) -> Columns:
        """As many layers and heads, `length` columns of whatever was in memory there."""
        tensors, heads, _, size = self._array.shape
        return _Reused(self.spares.take((tensors, heads, -(-length // ROOM) * ROOM, size)), length, zeros=False)


class _Reused(Columns):
    """Columns for native code alone, which reads by address what nobody else has: their array is used again."""

    def __del__(self) -> None:
        self.spares.give(self._array)


class NewRows(NamedTuple):
    """The new rows of one stream, and what they see."""

    ids: Ints
    positions: Ints
    bias: Floats
    """[1, 1, R, C + R]"""
    kept: Columns
    memory: Columns | None = None
    memory_bias: Floats | None = None
    """[1, 1, R, M]"""


def rows_in_order(ids: Ints, limits: Ints, length: int, kept: Columns) -> NewRows:
    """Rows after the first `length` columns. `limits` [R] counts columns of kept and new ones together."""
    check_limits(limits, length + len(ids))
    columns = np.arange(kept.room + len(limits))
    columns[length : kept.room] = _NOWHERE
    columns[kept.room :] += length - kept.room
    return NewRows(ids, np.arange(length, length + len(ids)), _hide(columns, limits), kept)


def rows_of_hypotheses(ids: Ints, own: Sequence[Ints], kept: Columns) -> NewRows:
    """One row for each hypothesis: it sees its `own` columns, and of the new ones itself."""
    bias = np.full((len(ids), kept.room + len(ids)), _HIDDEN)
    for row, columns in enumerate(own):
        bias[row, columns] = _SEEN
        bias[row, kept.room + row] = _SEEN
    positions = np.array([len(columns) for columns in own])
    return NewRows(ids, positions, bias[None, None], kept)


def with_memory(rows: NewRows, memory: Columns, length: int, limits: Ints) -> NewRows:
    """The same rows, which also see `limits` [R] of the `length` source columns."""
    check_limits(limits, length)
    return rows._replace(memory=memory, memory_bias=_hide(np.arange(memory.room), limits))


def check_limits(limits: Ints, columns: int) -> None:
    assert limits.min() >= 1, "a row that sees nothing"
    assert limits.max() <= columns, "a row that sees what is not there"


def places(counts: Sequence[int]) -> list[slice]:
    """Where each of many parts is that lie one after the other."""
    ends = np.cumsum(counts).tolist()
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def feeds(rows: Sequence[NewRows], last: bool) -> dict[str, npt.NDArray[Any]]:
    """What a graph takes (export/graph.py); `last` if it is told where the last row of each stream is."""
    counts = np.array([len(one.ids) for one in rows])
    found: dict[str, npt.NDArray[Any]] = {
        "ids": np.concatenate([one.ids for one in rows])[None],
        "positions": np.concatenate([one.positions for one in rows])[None],
    }
    if len(rows) > 1:
        found["rows"] = counts
    if last:
        found["last"] = np.cumsum(counts) - 1
    for stream, one in enumerate(rows):
        found[f"columns.{stream}"] = np.array([one.kept.room, len(one.ids)])
        found[f"bias.{stream}"] = one.bias
        for number, tensor in enumerate(one.kept.tensors):
            found[f"kept.{number}.{stream}"] = tensor
        if one.memory is not None:
            assert one.memory_bias is not None
            found[f"memory_bias.{stream}"] = one.memory_bias
            for number, tensor in enumerate(one.memory.tensors):
                found[f"memory.{number}.{stream}"] = tensor
    return found


_NOWHERE = 1 << 40


def _hide(columns: Ints, limits: Ints) -> Floats:
    """[1, 1, R, columns]: 0 where a row sees a column, -inf where it does not."""
    return np.where(columns < limits[:, None], _SEEN, _HIDDEN)[None, None]
