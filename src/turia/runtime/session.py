"""Runs a model folder's graphs with ONNX Runtime: numpy in, numpy out, no torch.

A state is an immutable value: what an encoder or a decoder keeps of the positions so far. States of one sequence share
a buffer with room to grow, into which each call writes its new columns behind the old ones; the second of two
continuations of one state gets a copy. So a step costs what is new in it, and a state that somebody holds on to never
changes.

Several requests go through one graph together, and each gets what it would get alone: to the last bit with int8, up to
the rounding of sums with float32. The same calls give the same bits. Rows that are cut into other calls give the same
up to rounding, which int8 makes larger (docs/decisions/015). One thread at a time may use a runtime.

Letters: P columns kept, R new rows, C columns of a buffer (C - P are free), H heads, E head size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state

from turia.engine.backend import DecodeRequest, DecoderState, EncodeRequest, EncoderState, LookRequest, Looks
from turia.errors import ConfigError, InputError, ModelError
from turia.runtime.folder import STREAMS, ModelFolder, Side, graph_file
from turia.runtime.shape import Shape
from turia.text.layout import Ints

Floats = npt.NDArray[np.float32]
T = TypeVar("T")

CPU = ("CPUExecutionProvider",)
GPU = ("CUDAExecutionProvider", *CPU)
"""Needs `onnxruntime-gpu` in place of `onnxruntime`."""
_ROOM = 64
"""Buffers grow by so many columns. Free columns cost a little in each attention, growing costs a copy."""
_GRAPH_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    IndexError,
    ValueError,
    *(
        found
        for found in vars(onnxruntime_pybind11_state).values()
        if isinstance(found, type) and issubclass(found, Exception)
    ),
)
"""What a graph that does not fit leads to: ONNX Runtime's own exceptions, which share no base, and numpy's."""


class Columns:
    """Keys and values of all layers, shared by the states of one sequence. What is written is never changed."""

    def __init__(self, array: Floats, filled: int) -> None:
        """`array` [A, H, C, E], of which the first `filled` columns are in use."""
        self._array, self._filled = array, filled
        self.room: int = array.shape[2]
        """C"""
        self.tensors: list[Floats] = [part[None] for part in array]
        """A views [1, H, C, E], as graphs take them."""

    def extended(self, length: int, new: Floats) -> Columns:
        """The first `length` columns and `new` [A, H, R, E] after them: here if that is still free, else in a copy."""
        end = length + new.shape[2]
        columns = self if self._filled == length and end <= self.room else self._copy(length, end)
        columns._array[:, :, length:end] = new
        columns._filled = end
        return columns

    def zeros(self, length: int) -> Columns:
        """As many layers and heads, `length` columns of zeros."""
        tensors, heads, _, size = self._array.shape
        return Columns(np.zeros((tensors, heads, -(-length // _ROOM) * _ROOM, size), dtype=np.float32), length)

    def _copy(self, length: int, end: int) -> Columns:
        # Zeros: a free column has no weight in an attention, but no weight times not-a-number is not-a-number.
        columns = self.zeros(end)
        columns._array[:, :, :length] = self._array[:, :, :length]
        return columns


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

    def truncated(self, length: int) -> TargetState:
        """The state of the first `length` rows."""
        return self if length == self.length else TargetState(length, self.kept)


class _Rows(NamedTuple):
    """The new rows of one stream, and what they see."""

    ids: Ints
    limits: Ints
    """[R] columns of kept and new ones together."""
    length: int
    kept: Columns
    memory: Columns | None = None
    memory_limits: Ints | None = None


class Runtime:
    """A model, ready to run."""

    def __init__(self, folder: ModelFolder, threads: int = 1, providers: Sequence[str] = CPU) -> None:
        """`threads` within one step; ONNX Runtime's `providers`, the preferred one first."""
        _check_arguments(threads, providers)
        shape = folder.config.shape
        self._encoder = _Graphs(folder.path, "encoder", threads, providers)
        self._decoder = _Graphs(folder.path, "decoder", threads, providers)
        self._looker = _Graphs(folder.path, "look", threads, providers)
        self.can_look = folder.can_look
        self.gives_states = self._encoder.gives_states() and self._decoder.gives_states()
        self._begin_encoding = _nothing(shape, shape.encoder_layers)
        self._begin_decoding = _nothing(shape, shape.decoder_layers)
        self._check(folder)

    def warm_up(self, streams: int) -> None:
        """Loads the graphs for up to so many streams and runs each once, so that no later step has to begin."""
        one = np.ones(1, dtype=np.int64)
        for size in STREAMS:
            [memory, *_] = self.encode([EncodeRequest(None, one, one)] * size)
            self.decode([DecodeRequest(None, memory, one, one)] * size)
            if size >= streams:
                break

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceState]:
        """The state of each request with its new positions."""
        results = []
        for group in _groups(requests):
            states = [self._encoded(request.state) for request in group]
            rows = []
            for request, state in zip(group, states, strict=True):
                _check_limits(request.reach, state.length + len(request.ids))
                rows.append(_Rows(request.ids, request.reach, state.length, state.kept))
            kept, memory, *given = self._encoder.run(rows)
            for state, place in zip(states, _places(rows), strict=True):
                results.append(
                    SourceState(
                        state.length + place.stop - place.start,
                        state.kept.extended(state.length, kept[:, :, place]),
                        state.memory.extended(state.length, memory[:, :, place]),
                        given[0][place] if given else None,
                    )
                )
        return results

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetState, Floats]]:
        """The state of each request with its new rows, and the logits [V] of the last row."""
        results = []
        for group in _groups(requests):
            rows = [self._rows(request) for request in group]
            kept, logits, *given = self._decoder.run(rows)
            for stream, (one, place) in enumerate(zip(rows, _places(rows), strict=True)):
                last = given[0][stream : stream + 1] if given else None
                results.append((_extended(one, kept[:, :, place], last), logits[stream]))
        return results

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        """The same with logits and cross-attention of all new rows."""
        results = []
        for group in _groups(requests):
            rows = [self._rows(request) for request in group]
            kept, logits, *attention = self._looker.run(rows)
            # As many attentions as the graph has streams; states, which older graphs do not give, come after them.
            given = attention[_streams(rows) :]
            for stream, (one, place) in enumerate(zip(rows, _places(rows), strict=True)):
                seen = attention[stream][:, :, :, : group[stream].memory.length]
                states = given[0][place] if given else None
                results.append(Looks(_extended(one, kept[:, :, place], states), logits[place], seen))
        return results

    def _rows(self, request: DecodeRequest) -> _Rows:
        state, memory = self._decoded(request.state), self._encoded(request.memory)
        _check_limits(request.limit, memory.length)
        causal = np.arange(state.length + 1, state.length + len(request.ids) + 1)
        return _Rows(request.ids, causal, state.length, state.kept, memory.memory, request.limit)

    def _encoded(self, state: EncoderState | None) -> SourceState:
        if state is None:
            return SourceState(0, self._begin_encoding, self._begin_decoding)
        assert isinstance(state, SourceState), "a state of another backend"
        return state

    def _decoded(self, state: DecoderState | None) -> TargetState:
        if state is None:
            return TargetState(0, self._begin_decoding)
        assert isinstance(state, TargetState), "a state of another backend"
        return state

    def _check(self, folder: ModelFolder) -> None:
        """Runs the largest ids and the last position, so that graphs of another shape are found out now and not
        mid-stream. Those for several streams come from the same weights and are loaded when they are needed."""
        shape = folder.config.shape
        one = np.ones(1, dtype=np.int64)
        try:
            state = self.encode([EncodeRequest(None, one * (shape.source_vocabulary - 1), one)])[0]
            _, logits = self.decode([DecodeRequest(None, state, one * (shape.target_vocabulary - 1), one)])[0]
            length = shape.max_positions - 1
            kept, memory = self._begin_encoding.zeros(length), self._begin_decoding.zeros(length)
            state = self.encode([EncodeRequest(SourceState(length, kept, memory), one, one)])[0]
            self.decode([DecodeRequest(TargetState(length, memory), state, one, one)])
        except InputError:
            raise
        except _GRAPH_ERRORS as error:
            raise ModelError(f"{folder.path}: the graphs do not fit config.json: {_first_line(error)}") from error
        if logits.shape != (shape.target_vocabulary,):
            raise ModelError(
                f"{folder.path}: the graphs have {len(logits)} target pieces, config.json has {shape.target_vocabulary}"
            )


def _extended(rows: _Rows, kept: Floats, states: Floats | None) -> TargetState:
    """The state that `rows` continue, with the columns of the new rows."""
    return TargetState(rows.length + len(rows.ids), rows.kept.extended(rows.length, kept), states)


def _streams(rows: Sequence[_Rows]) -> int:
    """Of the smallest graph that takes them all."""
    return min(size for size in STREAMS if size >= len(rows))


def _check_arguments(threads: int, providers: Sequence[str]) -> None:
    if type(threads) is not int or threads < 1:
        raise ConfigError(f"threads is {threads!r}, expected a whole number from 1")
    if isinstance(providers, str) or not providers:
        raise ConfigError(f"providers is {providers!r}, expected the names of one or more, such as {CPU}")


class _Graphs:
    """The graphs of one side, each loaded when it is first needed."""

    def __init__(self, folder: Path, side: Side, threads: int, providers: Sequence[str]) -> None:
        self._folder, self._side, self._threads, self._providers = folder, side, threads, providers
        self._sessions: dict[int, onnxruntime.InferenceSession] = {}

    def run(self, rows: Sequence[_Rows]) -> Any:
        """kept [A, H, N, E] of all new rows, and what else the graph gives: memory [A, H, N, E] or logits [B, V]."""
        streams = _streams(rows)
        # There are graphs for 1, 4 and 8 streams: places that are left over get the rows of the first stream.
        played = [*rows, *[rows[0]] * (streams - len(rows))]
        return self.session(streams).run(None, _feeds(played, last=self._side == "decoder"))

    def gives_states(self) -> bool:
        """Folders of release 0.1 do not."""
        return any(output.name == "states" for output in self.session(1).get_outputs())

    def session(self, streams: int) -> onnxruntime.InferenceSession:
        if streams not in self._sessions:
            path = self._folder / graph_file(self._side, streams)
            self._sessions[streams] = _session(path, self._threads, self._providers)
        return self._sessions[streams]


def _session(path: Path, threads: int, providers: Sequence[str]) -> onnxruntime.InferenceSession:
    missing = [name for name in providers if name not in onnxruntime.get_available_providers()]
    if missing:
        known = ", ".join(onnxruntime.get_available_providers())
        advice = "; install onnxruntime-gpu, or run on the CPU" if missing[0] in GPU else ""
        raise InputError(f"{missing[0]} is not in this installation of ONNX Runtime, which has {known}{advice}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A plan of memory is kept for every combination of shapes, and streams have ever new ones.
    options.enable_mem_pattern = False
    # Errors come as exceptions; the log would repeat them on standard error.
    options.log_severity_level = 4
    try:
        # The fused operator sums number by number: five times slower than addition and norm.
        session = onnxruntime.InferenceSession(
            path, options, providers=list(providers), disabled_optimizers=["SkipLayerNormFusion"], enable_fallback=0
        )
    except Exception as error:  # onnxruntime raises its own exceptions, which share no other base
        raise ModelError(f"{path}: cannot be loaded: {_first_line(error)}") from error
    if session.get_providers()[0] != providers[0]:
        # Its libraries or its device are missing, and ONNX Runtime would go on without a word.
        raise InputError(
            f"{providers[0]} cannot be used on this machine; ONNX Runtime has no device or no driver for it"
        )
    return session


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _nothing(shape: Shape, layers: int) -> Columns:
    """The columns of a window that has not begun: one free column, because some releases cannot multiply with none."""
    # It counts as filled, so that it is never written to.
    return Columns(np.zeros((2 * layers, shape.heads, 1, shape.head_size), dtype=np.float32), filled=1)


def _groups(requests: Sequence[T]) -> Iterator[Sequence[T]]:
    """Requests that go through a graph together."""
    for begin in range(0, len(requests), STREAMS[-1]):
        yield requests[begin : begin + STREAMS[-1]]


def _check_limits(limits: Ints, columns: int) -> None:
    assert limits.min() >= 1, "a row that sees nothing"
    assert limits.max() <= columns, "a row that sees what is not there"


def _places(rows: Sequence[_Rows]) -> list[slice]:
    """Where each stream's rows are among those of all."""
    ends = np.cumsum([len(one.ids) for one in rows]).tolist()
    return [slice(end - len(one.ids), end) for one, end in zip(rows, ends, strict=True)]


def _feeds(rows: Sequence[_Rows], last: bool) -> dict[str, npt.NDArray[Any]]:
    """What a graph takes (graph.py)."""
    counts = np.array([len(one.ids) for one in rows])
    feeds: dict[str, npt.NDArray[Any]] = {
        "ids": np.concatenate([one.ids for one in rows])[None],
        "positions": np.concatenate([np.arange(one.length, one.length + len(one.ids)) for one in rows])[None],
    }
    if len(rows) > 1:
        feeds["rows"] = counts
    if last:
        feeds["last"] = np.cumsum(counts) - 1
    for stream, one in enumerate(rows):
        feeds[f"columns.{stream}"] = np.array([one.kept.room, len(one.ids)])
        feeds[f"bias.{stream}"] = _bias(one.limits, one.length, one.kept.room)
        for number, tensor in enumerate(one.kept.tensors):
            feeds[f"kept.{number}.{stream}"] = tensor
        if one.memory is not None:
            assert one.memory_limits is not None
            feeds[f"memory_bias.{stream}"] = _hide(np.arange(one.memory.room), one.memory_limits)
            for number, tensor in enumerate(one.memory.tensors):
                feeds[f"memory.{number}.{stream}"] = tensor
    return feeds


def _bias(limits: Ints, length: int, room: int) -> Floats:
    """[1, 1, R, C + R]: the first P columns of the buffer, and after its C columns the new ones."""
    columns = np.arange(room + len(limits))
    columns[length:room] = _NOWHERE
    columns[room:] += length - room
    return _hide(columns, limits)


_NOWHERE = 1 << 40


def _hide(columns: Ints, limits: Ints) -> Floats:
    """[1, 1, R, columns]: 0 where a row sees a column, -inf where it does not."""
    return np.where(columns < limits[:, None], np.float32(0), np.float32(-np.inf))[None, None]
