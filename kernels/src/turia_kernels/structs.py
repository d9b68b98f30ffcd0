"""The structs of csrc/api.h and the shared library, by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
MODULE: Any = import_module("turia_kernels._step")
address: Callable[[npt.NDArray[Any]], int] = MODULE.address
"""Of an array whose numbers lie one after the other; others are refused."""
row_sureness: Callable[[int, npt.NDArray[np.float32], npt.NDArray[np.bool_]], float] = MODULE.sureness
perceptron: Callable[[int, npt.NDArray[np.float32], tuple[npt.NDArray[np.float32], ...], tuple[float, ...]], float] = (
    MODULE.perceptron
)


class MatrixStruct(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in ("inputs", "outputs", "zero")),
        *((name, _POINTER) for name in ("packed", "start", "multiplier", "bias")),
    )


class NormStruct(ctypes.Structure):
    _fields_ = (("weight", _POINTER), ("bias", _POINTER))


NORMS = ("around_attention", "around_cross", "around_feed_forward")
MATRICES = ("attention", "attention_output", "cross", "cross_output", "expand", "contract")


class LayerStruct(ctypes.Structure):
    _fields_ = (*((name, NormStruct) for name in NORMS), *((name, MatrixStruct) for name in MATRICES))


_NUMBERS = ("width", "inner", "heads", "layers", "decoder_layers", "is_decoder", "pre_norm", "rotary", "activation")


class SideStruct(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in _NUMBERS),
        ("embedding", _POINTER),
        ("embedding_scale", _POINTER),
        ("embedding_factor", ctypes.c_double),
        *((name, _POINTER) for name in ("cosines", "sines", "sinusoids", "layer")),
        ("last", NormStruct),
        ("output", MatrixStruct),
    )


_STEP = ("part", "ids", "positions", "limits", "memory_limits", "states", "logits")


class StepStruct(ctypes.Structure):
    _fields_ = (("streams", _NUMBER), ("rows", _NUMBER), *((name, _POINTER) for name in _STEP))


class ChoiceStruct(ctypes.Structure):
    _fields_ = (
        *((name, _NUMBER) for name in ("rows", "vocabulary", "count")),
        *((name, _POINTER) for name in ("logits", "forbidden", "before", "closing")),
        ("closings", _NUMBER),
        *((name, _POINTER) for name in ("places", "scores", "tops")),
    )


class SearchStruct(ctypes.Structure):
    _fields_ = (
        *(
            (name, _NUMBER)
            for name in ("width", "most", "longest", "one_word", "is_open", "is_draft", "words", "begun")
        ),
        ("before", ctypes.c_double),
        ("penalty", ctypes.c_double),
        *((name, _POINTER) for name in ("at_start", "in_word", "in_long_word", "borders")),
        ("space_first", _NUMBER),
        *((name, _POINTER) for name in ("closing", "stopping")),
        *((name, _NUMBER) for name in ("closings", "stoppings")),
        ("pieces", _POINTER),
        ("said", _POINTER),
        ("found", _NUMBER),
    )


_SEARCH = [field[0] for field in SearchStruct._fields_]
WIDTH, SEARCH_MOST, LONGEST, ONE_WORD, OPEN = (
    _SEARCH.index(name) for name in ("width", "most", "longest", "one_word", "is_open")
)
IS_DRAFT, WORDS, BEGUN, BEFORE = (_SEARCH.index(name) for name in ("is_draft", "words", "begun", "before"))
PIECES, SAID, FOUND = (_SEARCH.index(name) for name in ("pieces", "said", "found"))


class VariantStruct(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("byte_offset", _NUMBER),
        *((name, _POINTER) for name in ("run", "search", "choose", "multiply")),
    )


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(MODULE.__file__)
    library.turia_variant.argtypes, library.turia_variant.restype = [_NUMBER], ctypes.POINTER(VariantStruct)
    library.turia_sizes.argtypes, library.turia_sizes.restype = [_NUMBER], _NUMBER
    # The library lets other Python threads run while it computes.
    library.turia_begin.argtypes, library.turia_begin.restype = [*[_POINTER] * 5, _NUMBER], _POINTER
    library.turia_finish.argtypes, library.turia_finish.restype = [_POINTER] * 2, _NUMBER
    library.turia_begin_pool.argtypes, library.turia_begin_pool.restype = [_NUMBER], _POINTER
    library.turia_end_pool.argtypes, library.turia_end_pool.restype = [_POINTER], None
    library.turia_choose.argtypes, library.turia_choose.restype = [_POINTER] * 2, _NUMBER
    library.turia_multiply.argtypes = [_POINTER, _POINTER, _POINTER, _NUMBER, _POINTER]
    library.turia_multiply.restype = _NUMBER
    structs = (MatrixStruct, LayerStruct, SideStruct, PartStruct, StepStruct, ChoiceStruct, SearchStruct)
    assert [library.turia_sizes(which) for which in range(len(structs))] == list(map(ctypes.sizeof, structs))
    return library


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
    prefix: int = 0
    tree_room: int = 0
    tree: int = 0


class PartStruct(ctypes.Structure):
    _fields_ = tuple((name, _NUMBER) for name in Part._fields)


LIBRARY = _load()
