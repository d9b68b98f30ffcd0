"""The C library, by ctypes: its structs (csrc/api.h), what is packed for it, and its two calls.

Letters: N rows of all streams, R rows of one, C columns of a buffer, D width, H heads, E head size, V vocabulary.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

INTERFACE = 1
"""Raised when Turia has to hand over something else."""
LANES = 16
MOST = 63
"""Largest weight: two products with unsigned bytes must fit into 16 bits, as AVX2 adds them there."""
ACTIVATIONS = ("relu", "swish", "gelu")

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_MODULE: Any = import_module("turia_kernels._step")
address: Callable[[npt.NDArray[Any]], int] = _MODULE.address
"""Of an array whose numbers lie one after the other; others are refused."""


class _Matrix(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in ("inputs", "outputs", "zero")),
        *((name, _POINTER) for name in ("packed", "start", "multiplier", "bias")),
    )


class _Norm(ctypes.Structure):
    _fields_ = (("weight", _POINTER), ("bias", _POINTER))


_NORMS = ("around_attention", "around_cross", "around_feed_forward")
_MATRICES = ("attention", "attention_output", "cross", "cross_output", "expand", "contract")


class _Layer(ctypes.Structure):
    _fields_ = (*((name, _Norm) for name in _NORMS), *((name, _Matrix) for name in _MATRICES))


_NUMBERS = ("width", "inner", "heads", "layers", "decoder_layers", "is_decoder", "pre_norm", "rotary", "activation")


class _Side(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in _NUMBERS),
        ("embedding", _POINTER),
        ("embedding_scale", _POINTER),
        ("embedding_factor", ctypes.c_double),
        *((name, _POINTER) for name in ("cosines", "sines", "sinusoids", "layer")),
        ("last", _Norm),
        ("output", _Matrix),
    )


class Part(NamedTuple):
    """One stream's part of a step; addresses are those of arrays, or 0 for none. csrc/api.h says what each is."""

    rows: int
    begin: int
    room: int
    kept: int
    memory_begin: int
    memory_room: int
    memory: int
    seen: int = 0
    gives_all: int = 0
    attention: int = 0
    attention_room: int = 0


_STEP = ("part", "ids", "positions", "limits", "memory_limits", "states", "logits")


class _Step(ctypes.Structure):
    _fields_ = (("streams", _NUMBER), ("rows", _NUMBER), *((name, _POINTER) for name in _STEP))


class _Choice(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in ("rows", "vocabulary", "count")),
        *((name, _POINTER) for name in ("logits", "forbidden", "before", "closing")),
        ("closings", _NUMBER),
        *((name, _POINTER) for name in ("places", "scores", "tops")),
    )


class _Variant(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("byte_offset", _NUMBER),
        *((name, _POINTER) for name in ("run", "choose", "multiply")),
    )


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_MODULE.__file__)
    library.turia_variant.argtypes, library.turia_variant.restype = [_NUMBER], ctypes.POINTER(_Variant)
    library.turia_sizes.argtypes, library.turia_sizes.restype = [_NUMBER], _NUMBER
    # The library lets other Python threads run while it computes.
    library.turia_run.argtypes, library.turia_run.restype = [_POINTER] * 3, _NUMBER
    library.turia_choose.argtypes, library.turia_choose.restype = [_POINTER] * 2, _NUMBER
    library.turia_multiply.argtypes = [_POINTER, _POINTER, _POINTER, _NUMBER, _POINTER]
    library.turia_multiply.restype = _NUMBER
    structs = (_Matrix, _Layer, _Side, _Part, _Step, _Choice)
    assert [library.turia_sizes(which) for which in range(len(structs))] == list(map(ctypes.sizeof, structs))
    return library


class _Part(ctypes.Structure):
    _fields_ = tuple((name, _NUMBER) for name in Part._fields)


_LIBRARY = _load()


def variants() -> list[str]:
    """The variants that this processor can run, the fastest first. The last one, `portable`, is slow everywhere."""
    return [str(found.name.decode()) for found in _variants()]


def _variants() -> list[Any]:
    found: list[Any] = []
    while pointer := _LIBRARY.turia_variant(len(found)):
        found.append(pointer.contents)
    return found


@dataclass(frozen=True)
class Norm:
    """Scale and shift [D] of a layer norm."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True)
class PackedMatrix:
    """A matrix as the library reads it."""

    inputs: int
    outputs: int
    zero: int
    packed: Bytes
    """[N / 16, K / 4, 16, 4]"""
    start: npt.NDArray[np.int32]
    multiplier: Floats
    bias: Floats | None


@dataclass(frozen=True)
class PackedLayer:
    """A layer; an encoder's has no cross-attention."""

    around_attention: Norm
    around_feed_forward: Norm
    attention: PackedMatrix
    attention_output: PackedMatrix
    expand: PackedMatrix
    contract: PackedMatrix
    around_cross: Norm | None = None
    cross: PackedMatrix | None = None
    cross_output: PackedMatrix | None = None


class PackedSide:
    """The encoder or the decoder of a model, with the arrays that it points to."""

    def __init__(
        self,
        *,
        heads: int,
        layers: Sequence[PackedLayer],
        decoder_layers: int,
        is_decoder: bool,
        activation: str,
        embedding: Bytes,
        embedding_scale: Floats,
        embedding_factor: float,
        output: PackedMatrix,
        last: Norm | None,
        rotations: tuple[Floats, Floats] | None = None,
        sinusoids: Floats | None = None,
    ) -> None:
        """`embedding` [V, D]; `last` is the norm after the last layer, and makes the model a pre-norm one; `rotations`
        are cosines and sines [positions, E / 2], `sinusoids` [positions, D]; `output` makes the logits of a decoder, or
        the keys and values of all decoder layers."""
        self._alive: list[Any] = [layers, embedding, embedding_scale, output, last, rotations, sinusoids]
        vocabulary, width = embedding.shape
        inner = layers[0].expand.outputs
        assert width % heads == 0
        assert not (width // heads) % LANES
        assert not inner % LANES
        self.width, self.outputs, self.vocabulary = width, output.outputs, vocabulary
        self.positions = len(rotations[0]) if rotations is not None else len(_given(sinusoids))
        own = (_Layer * len(layers))(*map(_layer, layers))
        self._alive.append(own)
        pair = rotations or (None, None)
        self.struct = _Side(
            width=width,
            inner=inner,
            heads=heads,
            layers=len(layers),
            decoder_layers=decoder_layers,
            is_decoder=is_decoder,
            pre_norm=last is not None,
            rotary=rotations is not None,
            activation=ACTIVATIONS.index(activation),
            embedding=address(embedding),
            embedding_scale=address(embedding_scale),
            embedding_factor=embedding_factor,
            cosines=_address(pair[0]),
            sines=_address(pair[1]),
            sinusoids=_address(sinusoids),
            layer=ctypes.addressof(own),
            last=_norm(last),
            output=_matrix(output),
        )


def _given(table: Floats | None) -> Floats:
    assert table is not None, "neither rotations nor sinusoids"
    return table


def _address(array: npt.NDArray[Any] | None) -> int | None:
    return None if array is None else address(array)


def _matrix(matrix: PackedMatrix | None) -> _Matrix:
    if matrix is None:
        return _Matrix()
    parts = {name: _address(getattr(matrix, name)) for name in ("packed", "start", "multiplier", "bias")}
    return _Matrix(inputs=matrix.inputs, outputs=matrix.outputs, zero=matrix.zero, **parts)


def _norm(norm: Norm | None) -> _Norm:
    return _Norm() if norm is None else _Norm(address(norm.weight), address(norm.bias))


def _layer(layer: PackedLayer) -> _Layer:
    norms = {name: _norm(getattr(layer, name)) for name in _NORMS}
    return _Layer(**norms, **{name: _matrix(getattr(layer, name)) for name in _MATRICES})


class Kernels:
    """One variant of the library. One thread at a time may use it."""

    def __init__(self, variant: str | None = None) -> None:
        """The fastest variant that this processor can run, or the one of this name."""
        found = next((each for each in _variants() if variant in (None, each.name.decode())), None)
        if found is None:
            raise ValueError(f"variant {variant!r}: this processor can run {', '.join(variants())}")
        self.variant: str = found.name.decode()
        self._variant = ctypes.addressof(found)
        self._byte_offset: int = found.byte_offset
        self._step, self._choice = _Step(), _Choice()
        self._step_address, self._choice_address = ctypes.addressof(self._step), ctypes.addressof(self._choice)

    def pack(self, matrix: Bytes, scale: Floats, bias: Floats | None, positive: bool = False) -> PackedMatrix:
        """`matrix` [K, N] with a scale for each column; `positive` if its rows have no negative number."""
        inputs, outputs = matrix.shape
        assert not inputs % LANES
        assert np.abs(matrix.astype(np.int16)).max(initial=0) <= MOST
        zero, steps = (0, 255) if positive else (128, 127)
        wide = np.zeros((inputs, -(-outputs // LANES) * LANES), dtype=np.int8)
        wide[:, :outputs] = matrix
        packed = wide.reshape(inputs // 4, 4, -1, LANES).transpose(2, 0, 3, 1)
        sums = wide.sum(axis=0, dtype=np.int32)
        return PackedMatrix(
            inputs,
            outputs,
            zero,
            np.ascontiguousarray(packed),
            (self._byte_offset - zero) * sums,
            _filled(np.float32(1 / steps) * scale),
            None if bias is None else _filled(bias),
        )

    def multiply(self, matrix: PackedMatrix, x: Floats) -> Floats:
        """`x` [rows, K] times the matrix, and its bias."""
        out = np.empty((len(x), matrix.outputs), dtype=np.float32)
        struct = _matrix(matrix)
        if _LIBRARY.turia_multiply(self._variant, ctypes.addressof(struct), address(x), len(x), address(out)):
            raise MemoryError("no memory for a product")
        return out

    def run(
        self,
        side: PackedSide,
        parts: Sequence[Part],
        ids: Ints,
        positions: Ints,
        limits: Ints,
        memory_limits: Ints | None = None,
    ) -> tuple[Floats, Floats | None]:
        """States [given, D], and of a decoder the logits [given, V]: of all rows of parts that `gives_all`, of the last
        row of others. An encoder gives all rows. The new columns are written into the buffers.

        What each row sees must be there: whoever calls has checked it. Ids and positions are checked here.
        """
        struct, rows = side.struct, len(ids)
        assert all(one.dtype == np.int64 for one in (ids, positions, limits))
        assert memory_limits is None or memory_limits.dtype == np.int64
        if ids.min() < 0 or ids.max() >= side.vocabulary:
            raise IndexError(f"a piece of {ids.min()} to {ids.max()}, but there are {side.vocabulary}")
        if positions.min() < 0 or positions.max() >= side.positions:
            raise IndexError(f"a position of {positions.min()} to {positions.max()}, but there are {side.positions}")
        given = sum(part.rows if part.gives_all else 1 for part in parts) if struct.is_decoder else rows
        states = np.empty((given, side.width), dtype=np.float32)
        logits = np.empty((given, side.outputs), dtype=np.float32) if struct.is_decoder else None
        table = np.array(parts, dtype=np.int64)
        step = self._step
        step.streams, step.rows, step.part = len(parts), rows, address(table)
        step.ids, step.positions, step.limits = address(ids), address(positions), address(limits)
        step.memory_limits = None if memory_limits is None else address(memory_limits)
        step.states, step.logits = address(states), None if logits is None else address(logits)
        if _LIBRARY.turia_run(self._variant, ctypes.addressof(struct), self._step_address):
            raise MemoryError("no memory for a step")
        return states, logits

    def choose(
        self,
        logits: Sequence[Floats],
        forbidden: Sequence[npt.NDArray[np.bool_]],
        before: Sequence[float],
        closing: Ints,
        count: int,
    ) -> tuple[Ints, Floats, Floats]:
        """The best continuations of rows with `logits` [V], of which each has its score `before` and the pieces that
        are `forbidden` [V]; the `closing` pieces count as one, under the first name.

        Places row · V + piece, the best first, of equal ones the first; the log-probabilities of those pieces alone;
        and the largest log-probability of each row.
        """
        rows, vocabulary = len(logits), len(logits[0])
        assert all(one.dtype == np.float32 and len(one) == vocabulary for one in logits)
        assert all(one.dtype == np.bool_ and len(one) == vocabulary for one in forbidden)
        addresses = np.array([[address(one) for one in logits], [address(one) for one in forbidden]])
        scores_before = np.array(before, dtype=np.float32)
        places, scores = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.float32)
        tops = np.empty(rows, dtype=np.float32)
        choice, begin = self._choice, address(addresses)
        choice.rows, choice.vocabulary, choice.count = rows, vocabulary, count
        choice.logits, choice.forbidden, choice.before = begin, begin + 8 * rows, address(scores_before)
        choice.closing, choice.closings = address(closing), len(closing)
        choice.places, choice.scores, choice.tops = address(places), address(scores), address(tops)
        found = _LIBRARY.turia_choose(self._variant, self._choice_address)
        if found < 0:
            raise MemoryError("no memory for a choice")
        return places[:found], scores[:found], tops


def _filled(values: Floats) -> Floats:
    """With zeros at its end, up to a multiple of 16."""
    filled = np.zeros(-(-len(values) // LANES) * LANES, dtype=np.float32)
    filled[: len(values)] = values
    return filled
