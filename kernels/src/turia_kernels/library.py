"""The C library: what is packed for it, and its calls.

Letters: N rows of all streams, R rows of one, C columns of a buffer, D width, H heads, E head size, V vocabulary.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from turia_kernels.structs import (
    BEFORE,
    BEGUN,
    FOUND,
    IS_DRAFT,
    LIBRARY,
    LONGEST,
    MATRICES,
    NORMS,
    ONE_WORD,
    OPEN,
    PIECES,
    SAID,
    SEARCH_MOST,
    WIDTH,
    WORDS,
    ChoiceStruct,
    LayerStruct,
    MatrixStruct,
    NormStruct,
    Part,
    SearchStruct,
    SideStruct,
    StepStruct,
    address,
    perceptron,
    row_sureness,
)

INTERFACE = 6
"""Raised when Turia has to hand over something else."""
LANES = 16
MOST = 63
"""Largest weight: two products with unsigned bytes must fit into 16 bits, as AVX2 adds them there."""
ACTIVATIONS = ("relu", "swish", "gelu")

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]


def variants() -> list[str]:
    """The variants that this processor can run, the fastest first. The last one, `portable`, is slow everywhere."""
    return [str(found.name.decode()) for found in _variants()]


def _variants() -> list[Any]:
    found: list[Any] = []
    while pointer := LIBRARY.turia_variant(len(found)):
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
        _require(width % heads == 0 and not (width // heads) % LANES and not inner % LANES)
        self.width, self.outputs, self.vocabulary = width, output.outputs, vocabulary
        self.positions = len(rotations[0]) if rotations is not None else len(_given(sinusoids))
        own = (LayerStruct * len(layers))(*map(_layer, layers))
        self._alive.append(own)
        pair = rotations or (None, None)
        self.struct = SideStruct(
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
        self.address = ctypes.addressof(self.struct)


def _require(fits: bool | np.bool_) -> None:
    """What native code relies on. `python -O` would remove an `assert`, and other memory would be read."""
    if not fits:
        raise RuntimeError("native code was given arrays of another kind or size than it takes")


def _given(table: Floats | None) -> Floats:
    assert table is not None, "neither rotations nor sinusoids"
    return table


def _address(array: npt.NDArray[Any] | None) -> int | None:
    return None if array is None else address(array)


def _matrix(matrix: PackedMatrix | None) -> MatrixStruct:
    if matrix is None:
        return MatrixStruct()
    parts = {name: _address(getattr(matrix, name)) for name in ("packed", "start", "multiplier", "bias")}
    return MatrixStruct(inputs=matrix.inputs, outputs=matrix.outputs, zero=matrix.zero, **parts)


def _norm(norm: Norm | None) -> NormStruct:
    return NormStruct() if norm is None else NormStruct(address(norm.weight), address(norm.bias))


def _layer(layer: PackedLayer) -> LayerStruct:
    norms = {name: _norm(getattr(layer, name)) for name in NORMS}
    return LayerStruct(**norms, **{name: _matrix(getattr(layer, name)) for name in MATRICES})


class PackedRules:
    """What a beam search must know of the target vocabulary, with the arrays that it points to."""

    def __init__(
        self,
        *,
        at_start: Flags,
        in_word: Flags,
        borders: Flags,
        space_first: bool,
        penalty: float,
        closing: Ints,
        stopping: Ints,
    ) -> None:
        """Pieces [V] that may not come at the start of a word, and within one; those that end a word, or with
        `space_first` begin one; those that close a sentence, and those that stop a search."""
        tables = [np.ascontiguousarray(table) for table in (at_start, in_word, ~borders, borders)]
        _require(all(table.dtype == np.bool_ and len(table) == len(tables[0]) for table in tables))
        self._alive = [*tables, closing, stopping]
        self.vocabulary, self.space_first = len(at_start), space_first
        names = ("at_start", "in_word", "in_long_word", "borders", "closing", "stopping")
        struct = SearchStruct(
            penalty=penalty,
            space_first=space_first,
            closings=len(closing),
            stoppings=len(stopping),
            **{name: address(array) for name, array in zip(names, self._alive, strict=True)},
        )
        self.numbers: Ints = np.frombuffer(bytes(struct), dtype=np.int64)
        """The struct; all that it holds is 64 bits wide."""


class DraftAim(NamedTuple):
    """A search for a draft: the hypothesis that is the best one when it has so many words, or an end."""

    words: int
    begun: int
    """Pieces of a word that is begun where the search begins."""
    before: float
    """Log-probability of what it continues."""


class Aim(NamedTuple):
    """What one stream searches for."""

    rules: PackedRules
    width: int
    most: int
    """Pieces to look ahead; further only until the best hypothesis has a whole word."""
    one_word: bool
    """The sentence is being spoken, and one word is wanted."""
    is_open: bool
    """The same, and no hypothesis can end."""
    longest: int
    """Pieces of a word."""
    draft: DraftAim | None = None


class Found(NamedTuple):
    """What one stream's search found."""

    pieces: list[int]
    """Of the best hypothesis: whole words, and perhaps an end."""
    said: list[list[float]]
    """Of a draft, for each piece its log-probability and that of the likeliest one in its place."""


T = TypeVar("T")


class Running(Generic[T]):
    """A step that other threads work at, if there are any. Whoever began it asks for its result once."""

    def __init__(self, begun: int, pool: int | None, alive: object, result: Callable[[], T]) -> None:
        """`alive` is what the step points to, and whoever has the pool."""
        self._begun, self._pool, self._alive, self._result = begun, pool, alive, result
        self._is_done = False

    def wait(self) -> T:
        """Its result, for which the caller works, too."""
        if self._finish():
            raise MemoryError("no memory for a step")
        return self._result()

    def _finish(self) -> int:
        self._is_done = True
        return int(LIBRARY.turia_finish(self._pool, self._begun))

    def __del__(self) -> None:
        # Nobody wants it any more; but what it writes to must not go before it is done.
        if not self._is_done:
            self._finish()


class Kernels:
    """One variant of the library. One thread at a time may use it."""

    def __init__(self, variant: str | None = None, threads: int = 1) -> None:
        """The fastest variant that this processor can run, or the one of this name. The streams of a step are shared
        by so many `threads`, which changes no bit of the results."""
        found = next((each for each in _variants() if variant in (None, each.name.decode())), None)
        if found is None:
            raise ValueError(f"variant {variant!r}: this processor can run {', '.join(variants())}")
        self.variant: str = found.name.decode()
        self._variant = ctypes.addressof(found)
        self._byte_offset: int = found.byte_offset
        self.threads = threads
        self._pool: int | None = None
        if threads > 1:
            self._pool = LIBRARY.turia_begin_pool(threads - 1)
            if self._pool is None:
                raise MemoryError(f"no {threads} threads")
            weakref.finalize(self, LIBRARY.turia_end_pool, self._pool)
        self.sureness: Callable[[Floats, Flags], float] = partial(row_sureness, self._variant)
        """The log-probability of the likeliest piece that is not forbidden [V], of a row with logits [V]."""
        self.perceptron: Callable[[Floats, tuple[Floats, ...], tuple[float, ...]], float] = partial(
            perceptron, self._variant
        )
        """The sum that a two-layer perceptron makes of states and numbers, one after the other. Of each of its inner
        values, rows [H, N + 2] have the weights, a bias, and the weight in the sum."""
        self._choice = ChoiceStruct()
        self._choice_address = ctypes.addressof(self._choice)

    def pack(self, matrix: Bytes, scale: Floats, bias: Floats | None, positive: bool = False) -> PackedMatrix:
        """`matrix` [K, N] with a scale for each column; `positive` if its rows have no negative number."""
        inputs, outputs = matrix.shape
        _require(not inputs % LANES and np.abs(matrix.astype(np.int16)).max(initial=0) <= MOST)
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
        if LIBRARY.turia_multiply(self._variant, ctypes.addressof(struct), address(x), len(x), address(out)):
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
        holds: object = None,
        at_once: int = 1,
    ) -> Running[tuple[Floats, Floats | None]]:
        """States [given, D], and of a decoder the logits [given, V]: of all rows of parts that `gives_all`, of the last
        row of others. An encoder gives all rows. The new columns are written into the buffers. What parts point to
        is given as `holds`, so that it stays until the step is done. With several steps `at_once`, each one is for
        fewer threads.

        What each row sees must be there: whoever calls has checked it. Ids and positions are checked here.
        """
        given = len(ids)
        if side.struct.is_decoder:
            given = sum(part.rows if part.gives_all else 1 for part in parts)
        states = np.empty((given, side.width), dtype=np.float32)
        logits = np.empty((given, side.outputs), dtype=np.float32) if side.struct.is_decoder else None
        rows = (ids, positions, limits, memory_limits)
        return self._begin(side, parts, rows, states, logits, None, holds, lambda: (states, logits), at_once)

    def search(
        self,
        side: PackedSide,
        parts: Sequence[Part],
        ids: Ints,
        positions: Ints,
        limits: Ints,
        memory_limits: Ints,
        aims: Sequence[Aim],
        holds: object = None,
        at_once: int = 1,
    ) -> Running[tuple[Floats, list[Found]]]:
        """A beam search of each stream, after its rows: the states [streams, D] of their last rows, and what
        they found. Nothing of the search itself is kept in the buffers."""
        rooms = [max(aim.most, aim.longest) + 1 for aim in aims]
        ends = np.cumsum([part.rows for part in parts]) - 1
        if (positions[ends] + rooms).max() > side.positions:
            raise IndexError(f"a search of up to {max(rooms)} pieces, but there are {side.positions} positions")
        _require(all(aim.rules.vocabulary == side.outputs for aim in aims))
        _require(not any(part.gives_all for part in parts))
        states = np.empty((len(parts), side.width), dtype=np.float32)
        pieces = np.empty((len(aims), max(rooms)), dtype=np.int64)
        table = np.stack([aim.rules.numbers for aim in aims])
        table[:, WIDTH], table[:, SEARCH_MOST] = [aim.width for aim in aims], [aim.most for aim in aims]
        table[:, OPEN], table[:, LONGEST] = [aim.is_open for aim in aims], [aim.longest for aim in aims]
        table[:, ONE_WORD] = [aim.one_word for aim in aims]
        table[:, PIECES] = address(pieces) + pieces.strides[0] * np.arange(len(aims))
        said = np.empty((len(aims), max(rooms) if any(aim.draft for aim in aims) else 0, 2), dtype=np.float32)
        for row, aim in enumerate(aims):
            if aim.draft is not None:
                assert not aim.rules.space_first
                table[row, IS_DRAFT], table[row, WORDS], table[row, BEGUN] = True, aim.draft.words, aim.draft.begun
                table.view(np.float64)[row, BEFORE] = aim.draft.before
                table[row, SAID] = address(said) + row * said.strides[0]

        def found() -> tuple[Floats, list[Found]]:
            counts = table[:, FOUND].tolist()
            return states, [
                Found(own[:count], [] if aim.draft is None else saying[:count].tolist())
                for own, saying, count, aim in zip(pieces.tolist(), said, counts, aims, strict=True)
            ]

        rows = (ids, positions, limits, memory_limits)
        return self._begin(side, parts, rows, states, None, table, (holds, aims, pieces, said), found, at_once)

    def _begin(
        self,
        side: PackedSide,
        parts: Sequence[Part],
        rows: tuple[Ints, Ints, Ints, Ints | None],
        states: Floats,
        logits: Floats | None,
        searches: Ints | None,
        holds: object,
        result: Callable[[], T],
        at_once: int,
    ) -> Running[T]:
        ids, positions, *_ = rows
        _require(all(numbers is None or numbers.dtype == np.int64 for numbers in rows))
        if ids.min() < 0 or ids.max() >= side.vocabulary:
            raise IndexError(f"a piece of {ids.min()} to {ids.max()}, but there are {side.vocabulary}")
        if positions.min() < 0 or positions.max() >= side.positions:
            raise IndexError(f"a position of {positions.min()} to {positions.max()}, but there are {side.positions}")
        table = np.array(parts, dtype=np.int64)
        arrays = (table, *rows, states, logits)
        step = StepStruct(len(parts), len(ids), *map(_address, arrays))
        # Another thread would take longer to wake up than it could save for one stream.
        pool = self._pool if len(parts) > 1 else None
        begun = LIBRARY.turia_begin(
            self._variant, pool, side.address, ctypes.addressof(step), _address(searches), at_once
        )
        if begun is None:
            raise MemoryError("no memory for a step")
        return Running(begun, pool, (self, side, step, arrays, searches, holds), result)

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
        _require(all(one.dtype == np.float32 and len(one) == vocabulary for one in logits))
        _require(all(one.dtype == np.bool_ and len(one) == vocabulary for one in forbidden))
        addresses = np.array([[address(one) for one in logits], [address(one) for one in forbidden]])
        scores_before = np.array(before, dtype=np.float32)
        places, scores = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.float32)
        tops = np.empty(rows, dtype=np.float32)
        choice, begin = self._choice, address(addresses)
        choice.rows, choice.vocabulary, choice.count = rows, vocabulary, count
        choice.logits, choice.forbidden, choice.before = begin, begin + 8 * rows, address(scores_before)
        choice.closing, choice.closings = address(closing), len(closing)
        choice.places, choice.scores, choice.tops = address(places), address(scores), address(tops)
        found = LIBRARY.turia_choose(self._variant, self._choice_address)
        if found < 0:
            raise MemoryError("no memory for a choice")
        return places[:found], scores[:found], tops


def _filled(values: Floats) -> Floats:
    """With zeros at its end, up to a multiple of 16."""
    filled = np.zeros(-(-len(values) // LANES) * LANES, dtype=np.float32)
    filled[: len(values)] = values
    return filled
